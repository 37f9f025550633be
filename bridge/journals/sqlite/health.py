"""An SQLite journal as :class:`bridge.journals.health.JournalHealth` describes it."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from bridge.core.cursor import JournalIdentity
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.errors import OperatorError
from bridge.journals.health import Blocker, Lag
from bridge.journals.sqlite.identity import IdentityKeeper
from bridge.journals.sqlite.session import connect, database_errors
from bridge.journals.sqlite.table import SqliteTable

__all__ = ["SqliteHealth"]

_FILE = "health"


class SqliteHealth:
    """Looks at one journal table over a connection of its own.

    Args:
        url: ``sqlite:///path`` of an existing file.
    """

    def __init__(self, app: str, name: str, url: str, table: SqliteTable) -> None:
        self._url = url
        self._table = table
        self._identity = IdentityKeeper(app, name, table.table)
        self._conn: sqlite3.Connection | None = None

    def identity_problem(self, named: JournalIdentity) -> str | None:
        """See the port."""
        with self._session() as conn:
            try:
                self._identity.establish(conn, named)
            except OperatorError as e:
                return e.what
            return None

    def lag(self, position: Position | None, limit: int) -> Lag:
        """See the port."""
        name, params = self._rows_behind(position)
        with self._session() as conn:
            statement = self._table.sql(_FILE, name)
            found = conn.execute(statement, {**params, "limit": limit}).fetchone()
        rows, oldest_ms, newest_ms = found
        return Lag(rows, rows >= limit, oldest_ms, newest_ms)

    def blockers(self) -> Sequence[Blocker]:
        """See the port; SQLite does not tell who holds its one write lock."""
        return []

    def tags(self, row_limit: int, tag_limit: int) -> Sequence[str]:
        """See the port."""
        with self._session() as conn:
            lists = conn.execute(self._table.sql(_FILE, "tag_lists"), {"rows": row_limit})
            found = chain.from_iterable(self._split(text) for (text,) in lists if text)
            return sorted(islice(dict.fromkeys(found), tag_limit))

    def close(self) -> None:
        """See the port."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _split(self, text: str) -> list[str]:
        if self._table.layout == "actor-ts":
            return [tag for tag in text.split(",") if tag]
        try:
            found = json.loads(text)
        except ValueError:
            return []  # the relay names such a row when it comes to it
        return [tag for tag in found if isinstance(tag, str) and tag]

    def _rows_behind(self, position: Position | None) -> tuple[str, dict[str, Any]]:
        match position:
            case None if self._table.install is None:
                return "lag_bridge", {"after": 0}
            case None:
                return self._rows_behind(HistoryPosition(by_entity=True))
            case HistoryPosition(by_entity, after):
                places = {f"after_{i}": part for i, part in enumerate(after or (None,) * 3)}
                return f"lag_history_by_{'entity' if by_entity else 'time'}", places
            case SequencePosition(number):
                return f"lag_{self._table.layout.replace('-', '_')}", {"after": number}
            case WindowPosition():
                raise OperatorError(
                    f"the cursor of journal {self._table.table} is one of ordering `snapshot`",
                    "the journal's url or ordering was changed; change it back",
                )

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        if self._conn is None:
            self._conn = connect(self._url)
            self._conn.execute("PRAGMA query_only = ON")
        with database_errors(f"looking at journal {self._table.table}"):
            yield self._conn
