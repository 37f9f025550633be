"""Pages of a window or of the history, in bounded memory.

A window of up to a page is one statement and leaves no transaction open. Only a larger one, that is
catching up, is read through a server-side cursor, which is closed after a while and reopened by
keyset, so that it never holds back the server's vacuum for long.
"""

import time
from collections import deque

import structlog
from psycopg import Connection, ServerCursor
from psycopg.rows import TupleRow

from bridge.core.positions import HistoryPosition, WindowPosition
from bridge.core.rows import JournalRow
from bridge.errors import OperatorError
from bridge.journals.base import PageLimits
from bridge.journals.layouts import RawRow
from bridge.journals.postgres.queries import Query, ReadQueries

__all__ = ["PageReader"]

_log = structlog.get_logger("bridge.journals")

CURSOR_LIFE_S = 20.0
"""How long one transaction of the catch-up may stay open."""

SORT_WORTH = 10
"""Times as long as the sort of the rest took, that its result is used at least."""

IDLE_LIMIT_S = 60
"""How long that transaction may wait for the next page."""

_SIZE = 3
_PAYLOAD = 2

Bounded = WindowPosition | HistoryPosition


class PageReader:
    """Reads one window or history after the other, page by page.

    Args:
        conn: for single statements.
        catch_up: a second connection, for the server-side cursor's transaction.
    """

    def __init__(
        self,
        conn: Connection[TupleRow],
        catch_up: Connection[TupleRow],
        queries: ReadQueries,
        limits: PageLimits,
    ) -> None:
        self._conn = conn
        self._catch_up = catch_up
        self._queries = queries
        self._limits = limits
        self._make = queries.row_maker
        self._at: Bounded | None = None
        self._buffer: deque[RawRow] = deque()
        self._more = False
        self._cursor: ServerCursor[TupleRow] | None = None
        self._cursor_until = 0.0

    def read(self, position: Bounded) -> tuple[list[JournalRow], bool]:
        """Rows behind `position` and whether the window holds more behind them."""
        if self._at != position:
            self._open(position)
        rows = self._take(position)
        more = bool(self._buffer) or self._more
        self._at = position.behind(rows[-1].place) if rows and more else None
        return rows, more

    def _open(self, position: Bounded) -> None:
        self._close_cursor()
        query = self._queries.page(position)
        limit = self._limits.max_rows + 1  # one more tells whether the window is larger than a page
        with self._conn.cursor(binary=True) as cursor:
            cursor.execute(f"{query.text}\nLIMIT {limit}", query.params)
            self._buffer = deque(cursor.fetchall())
        self._more = len(self._buffer) == limit

    def _take(self, position: Bounded) -> list[JournalRow]:
        rows: list[JournalRow] = []
        room = self._limits.max_bytes
        while len(rows) < self._limits.max_rows:
            if not self._buffer and not self._refill(position, rows):
                break
            raw = self._buffer[0]
            room -= raw[_SIZE] or 0
            if rows and room < 0:
                break
            self._buffer.popleft()
            payload = raw[_PAYLOAD]
            if payload is None and raw[_SIZE] is not None:
                payload = self._fetch(position, raw)
                if payload is None:
                    _log.warning("event_deleted_while_read", persistence_id=raw[0], seq=raw[1])
                    continue
            try:
                rows.append(self._make(raw, payload))
            except ValueError as e:
                if rows:  # everything before it is delivered first
                    self._buffer.appendleft(raw)
                    break
                raise OperatorError(
                    f"journal event {raw[0]!r}/{raw[1]} cannot be read: {e}",
                    "correct the row; nothing was skipped, everything before it is published",
                ) from None
        return rows

    def _fetch(self, position: Bounded, raw: RawRow) -> bytes | None:
        """A payload that was withheld for its size."""
        history = isinstance(position, HistoryPosition)
        text = self._queries.history_payload if history else self._queries.payload
        with self._conn.cursor(binary=True) as cursor:
            found = cursor.execute(text, {"pid": raw[0], "seq": raw[1]}).fetchone()
        return None if found is None else bytes(found[0])

    def _refill(self, position: Bounded, rows: list[JournalRow]) -> bool:
        if not self._more:
            return False
        if self._cursor is not None and time.monotonic() > self._cursor_until:
            self._close_cursor()
        if self._cursor is None:
            place = rows[-1].place if rows else position.after
            here = position if place is None else position.behind(place)
            self._open_cursor(self._queries.page(here))
        self._buffer.extend(self._fetch_block())
        return bool(self._buffer)

    def _open_cursor(self, query: Query) -> None:
        # If publishing stands still the server ends the transaction, and the relay attaches anew.
        self._catch_up.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_LIMIT_S}s'")
        self._catch_up.execute("BEGIN READ ONLY")
        self._cursor = ServerCursor(self._catch_up, "bridge_catch_up")
        self._cursor.execute(query.text, query.params, binary=True)
        self._cursor_until = 0.0

    def _fetch_block(self) -> list[RawRow]:
        if self._cursor is None:
            return []
        began = time.monotonic()
        block = self._cursor.fetchmany(self._limits.max_rows)
        if not self._cursor_until:
            # The first block pays for the sort: it must be worth its cost before it is repeated.
            life_s = max(CURSOR_LIFE_S, SORT_WORTH * (time.monotonic() - began))
            self._cursor_until = began + life_s
        if len(block) < self._limits.max_rows:
            self._more = False
            self._close_cursor()
        return block

    def _close_cursor(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.close()
            self._catch_up.execute("COMMIT")
