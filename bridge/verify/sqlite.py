"""A SQLite journal as one read transaction shows it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge.core.cursor import Cursor
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.errors import OperatorError, SetupError, UnavailableError
from bridge.verify.source import RowState, SourceRow
from bridge.verify.tags import tag_reader

__all__ = ["SqliteSource"]

_ROWS_BRIDGE = """
SELECT persistence_id, sequence_nr, tags, ordering, NULL, 0 FROM bridge_events
"""
# A copy without its row was committed, too: its owner deleted it, perhaps before it was relayed.
_ROWS_OUTBOX = """
SELECT j.persistence_id, j.sequence_nr, j.tags, o.ordering, j."timestamp", 0
FROM {table} AS j LEFT JOIN bridge_outbox AS o USING (persistence_id, sequence_nr)
UNION ALL
SELECT persistence_id, sequence_nr, tags, ordering, NULL, 1 FROM bridge_outbox AS o
WHERE NOT EXISTS (
  SELECT 1 FROM {table} AS j
  WHERE j.persistence_id = o.persistence_id AND j.sequence_nr = o.sequence_nr)
"""
_KEPT = "SELECT persistence_id, min(sequence_nr) FROM {table} GROUP BY persistence_id"
_KEPT_WITH_META = """
SELECT persistence_id, max(first)
FROM (SELECT persistence_id, min(sequence_nr) AS first FROM {table} GROUP BY persistence_id
      UNION ALL SELECT persistence_id, deleted_to + 1 FROM {meta})
GROUP BY persistence_id
"""


class SqliteSource:
    """See :class:`bridge.verify.source.VerifySource`.

    Args:
        file: the database; it is opened for reading only.
        layout: ``bridge``, or ``actor-ts`` with install `outbox`.
        table: name of the journal's table.
        cursor: where the relay stands; None: it never committed anything.
    """

    def __init__(self, file: Path, layout: str, table: str, cursor: Cursor | None) -> None:
        self._shown = f"{file} {table}"
        self._layout = layout
        self._names = {"table": _quoted(table), "meta": _quoted(f"{table}_meta")}
        self._meta = f"{table}_meta"
        self._read_tags = tag_reader(layout)
        self._position = cursor.position if cursor else None
        self._origin = cursor.origin if cursor else None
        for position in (self._position, self._origin):
            _require_fitting(position, self._shown)
        with self._errors():
            uri = f"{file.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None)
            self._db.execute("BEGIN")
            self._db.execute("SELECT 1 FROM sqlite_master").fetchone()  # takes the snapshot

    def rows(self) -> Iterator[SourceRow]:
        """See the port."""
        statement = _ROWS_BRIDGE if self._layout == "bridge" else _ROWS_OUTBOX
        for pid, seq, tags, ordering, time, gone in self._stream(statement):
            state = self._history(time, pid, seq) if ordering is None else self._state(ordering)
            yield SourceRow(_key(pid), seq, self._read_tags(tags), state, bool(gone))

    def kept_from(self) -> Iterator[tuple[bytes, int]]:
        """See the port."""
        with self._errors():
            found = self._db.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [self._meta]
            ).fetchone()
        with_meta = found is not None and self._layout == "actor-ts"
        for pid, first in self._stream(_KEPT_WITH_META if with_meta else _KEPT):
            yield _key(pid), first

    def close(self) -> None:
        """See the port."""
        self._db.close()

    def _stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with self._errors():
            yield from self._db.execute(statement.format(**self._names))

    def _state(self, ordering: int) -> int:
        if isinstance(self._origin, SequencePosition) and ordering <= self._origin.after:
            return RowState.BEFORE_START
        if isinstance(self._position, SequencePosition) and ordering <= self._position.after:
            return RowState.EXPECTED
        return RowState.PENDING

    def _history(self, time: int, pid: str, seq: int) -> int:
        """State of a row from before the installation, which has no number of its own."""
        position = self._position
        if isinstance(position, SequencePosition):
            never_meant = isinstance(self._origin, SequencePosition) and self._origin.after > 0
            return RowState.BEFORE_START if never_meant else RowState.EXPECTED
        if isinstance(position, HistoryPosition) and position.after is not None:
            place = (pid, seq) if position.by_entity else (time, pid, seq)
            # Text compares by bytes in SQLite, and UTF-8 bytes sort as code points do in Python.
            return RowState.EXPECTED if place <= position.after else RowState.PENDING
        return RowState.PENDING

    @contextmanager
    def _errors(self) -> Iterator[None]:
        doing = f"SQLite: verifying journal {self._shown}"
        try:
            yield
        except sqlite3.OperationalError as e:
            if "no such" in str(e):
                raise SetupError(
                    f"{doing}: {e}", "run `bridge init`, or correct table and layout"
                ) from e
            raise UnavailableError(f"{doing}: {e}", "check file, rights and writers") from e
        except sqlite3.DatabaseError as e:
            raise SetupError(f"{doing}: {e}", "check that the url names the journal's file") from e


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _key(persistence_id: str) -> bytes:
    return persistence_id.encode("utf-8", "surrogatepass")


def _require_fitting(position: Position | None, shown: str) -> None:
    if isinstance(position, WindowPosition):
        raise OperatorError(
            f"the cursor of journal {shown} is one of ordering `snapshot`",
            "the journal's url or ordering was changed; change it back",
        )
