"""Pages of an SQLite journal, in bounded memory and without a transaction between them.

Rows are stepped one at a time, so a page of large events never holds more than its byte budget and
one row. A statement that stayed open between pages would block writers (rollback mode) or keep the
write-ahead log from being reset.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing

from bridge.core.positions import HistoryPosition, Place, SequencePosition
from bridge.core.rows import JournalRow
from bridge.errors import OperatorError
from bridge.journals.base import PageLimits
from bridge.journals.layouts import RawRow
from bridge.journals.sqlite.rows import CheckedRows
from bridge.journals.sqlite.table import SqliteTable

__all__ = ["PageReader"]

_SIZE = 3
_NUMBER = 9

Bounded = SequencePosition | HistoryPosition


class PageReader:
    """Reads one attached journal page by page.

    Args:
        conn: used by this reader alone, also for the temporary table of the history.
    """

    def __init__(self, conn: sqlite3.Connection, table: SqliteTable, limits: PageLimits) -> None:
        self._conn = conn
        self._table = table
        self._limits = limits
        self._rows = CheckedRows(table.row_maker, table.table)
        self._history_at: HistoryPosition | None = None
        self._history_number = 0

    def read(self, position: Bounded) -> tuple[list[JournalRow], bool]:
        """Rows behind `position`, and whether there are more behind them."""
        if isinstance(position, HistoryPosition):
            return self._read_history(position)
        params = {"after": position.after}
        rows, more, _ = self._page("page", params, position.after, lambda _: None)
        return rows, more

    def read_entity(
        self, persistence_id: str, first: int, last: int
    ) -> tuple[list[JournalRow], bool]:
        """Events of one entity, and whether there are more behind them."""
        statement = "entity" if self._table.install is None else "entity_outbox"
        params: dict[str, int | str] = {"pid": persistence_id, "first": first, "last": last}
        rows, more, _ = self._page(statement, params, first, lambda _: None)
        return rows, more

    def _read_history(self, position: HistoryPosition) -> tuple[list[JournalRow], bool]:
        if self._history_at != position:
            self._sort_history(position)
        place = _entity_place if position.by_entity else _time_place
        after = self._history_number
        rows, more, number = self._page("history_page", {"after": after}, after, place)
        self._history_number = number
        self._history_at = position.behind(rows[-1].place) if rows else position
        return rows, more

    def _page(
        self,
        statement: str,
        params: Mapping[str, int | str],
        after: int,
        place: Callable[[RawRow], Place | None],
    ) -> tuple[list[JournalRow], bool, int]:
        """Rows, whether there are more, and the number of the last; `after` when there are none."""
        rows: list[JournalRow] = []
        limits = self._limits
        room = limits.max_bytes
        # One more than a page tells whether there are more.
        params = {**params, "limit": limits.max_rows + 1}
        with closing(self._conn.execute(self._table.sql("read", statement), params)) as found:
            for raw in found:
                room -= raw[_SIZE] or 0
                if rows and (room < 0 or len(rows) == limits.max_rows):
                    return rows, True, after
                try:
                    rows.append(self._rows.row(raw, place(raw)))
                except OperatorError:
                    if rows:  # first deliver what lies before it
                        return rows, True, after
                    raise
                after = raw[_NUMBER]
        return rows, False, after

    def _sort_history(self, position: HistoryPosition) -> None:
        order = "entity" if position.by_entity else "time"
        for name in ("history_table_drop", "history_table", f"history_by_{order}"):
            self._conn.execute(self._table.sql("read", name))
        self._history_number = 0
        if position.after is not None:
            params = {f"after_{i}": part for i, part in enumerate(position.after)}
            behind = self._conn.execute(self._table.sql("read", f"history_behind_{order}"), params)
            self._history_number = behind.fetchone()[0]


def _time_place(raw: RawRow) -> Place:
    return (raw[5], raw[0], raw[1])


def _entity_place(raw: RawRow) -> Place:
    return (raw[0], raw[1])
