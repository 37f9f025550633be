"""Transactions of writers in SQL, for the journal suite."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

__all__ = ["ACTOR_TS_TABLE", "SqlConnection", "SqlWriting", "actor_ts_values", "bridge_values"]

ACTOR_TS_TABLE = """CREATE TABLE events (
  persistence_id TEXT NOT NULL, sequence_nr BIGINT NOT NULL, payload TEXT, tags TEXT,
  timestamp BIGINT NOT NULL, PRIMARY KEY (persistence_id, sequence_nr))"""

Values = Callable[[str, int, bytes | None, Sequence[str], int], tuple[Any, ...]]


class SqlConnection(Protocol):
    """What psycopg and sqlite3 have in common."""

    def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Execute a statement."""

    def close(self) -> None:
        """Close it; an open transaction is rolled back."""


def actor_ts_values(
    pid: str, nr: int, payload: bytes | None, tags: Sequence[str], timestamp_ms: int
) -> tuple[Any, ...]:
    """Values of ``events(persistence_id, sequence_nr, payload, tags, timestamp)``."""
    text = None if payload is None else payload.decode()
    return (pid, nr, text, ",".join(tags) or None, timestamp_ms)


def bridge_values(
    pid: str, nr: int, payload: bytes | None, tags: Sequence[str], timestamp_ms: int
) -> tuple[Any, ...]:
    """Values of ``bridge_events(…, event_type, payload, tags, timestamp_ms)``; tags as JSON."""
    return (pid, nr, "Done", payload, json.dumps(list(tags), ensure_ascii=False), timestamp_ms)


class SqlWriting:
    """One transaction on a connection of its own, which it closes; see the contract's `Writing`."""

    def __init__(self, conn: SqlConnection, insert: str, values: Values) -> None:
        self._conn = conn
        self._insert = insert
        self._values = values
        conn.execute("BEGIN")

    def append(
        self,
        pid: str,
        nr: int,
        *,
        payload: bytes | None = b"{}",
        tags: Sequence[str] = ("a",),
        timestamp_ms: int = 1_000,
    ) -> None:
        """Insert an event."""
        self._conn.execute(self._insert, self._values(pid, nr, payload, tags, timestamp_ms))

    def savepoint(self) -> None:
        """Set the savepoint."""
        self._conn.execute("SAVEPOINT here")

    def rollback_to_savepoint(self) -> None:
        """Undo what was inserted since."""
        self._conn.execute("ROLLBACK TO SAVEPOINT here")

    def commit(self) -> None:
        """End, with rows."""
        self._conn.execute("COMMIT")
        self._conn.close()

    def rollback(self) -> None:
        """End, without rows."""
        self._conn.execute("ROLLBACK")
        self._conn.close()
