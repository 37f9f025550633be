"""The PostgreSQL journal with the `snapshot` ordering: the position is a whole snapshot.

Each window is what a new snapshot sees and the old one did not, sorted by a number taken at insert.
A row is in exactly one window, an open transaction delays nobody, and no effect comes before its
cause: what saw A's commit was inserted later or became visible later.
"""

from collections.abc import Callable
from contextlib import suppress

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from bridge.core.cursor import Cursor, JournalIdentity
from bridge.core.effects import Attached
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.rows import JournalRow, Page, RowKey
from bridge.core.snapshot import GENESIS, PgSnapshot
from bridge.errors import OperatorError, SetupError, UnavailableError
from bridge.journals.base import RECENT_EVENTS, PageLimits
from bridge.journals.postgres.barrier import Barrier, lsn
from bridge.journals.postgres.entity import read_entity
from bridge.journals.postgres.identity import IdentityKeeper
from bridge.journals.postgres.inspect import inspect
from bridge.journals.postgres.pages import PageReader
from bridge.journals.postgres.queries import ReadQueries
from bridge.journals.postgres.session import connect, database_errors
from bridge.journals.postgres.statements import load
from bridge.journals.postgres.table import JournalTable
from bridge.journals.witness import new_token

__all__ = ["PostgresJournal"]


CANCEL_TIMEOUT_S = 2.0


class PostgresJournal:
    """One journal table of one database, as :class:`bridge.journals.base.Journal` describes it.

    Args:
        url: address of the writable primary.
        table: what to read.
        limits: bounds of a page.
        start: ``beginning`` or ``now``: where to begin without a cursor.
        standbys: standbys that must have flushed a row before it is delivered.
        token: makes witnesses; only tests give another one.
    """

    def __init__(
        self,
        *,
        app: str,
        name: str,
        url: str,
        table: JournalTable,
        limits: PageLimits,
        start: str = "beginning",
        standbys: int = 0,
        token: Callable[[], str] = new_token,
    ) -> None:
        self._url = url
        self._table = table
        self._limits = limits
        self._start = start
        self._label = f"bridge relay {app}/{name}"
        self._identity = IdentityKeeper(app, name, table.schema, token)
        self._barrier = Barrier(standbys)
        inline_bytes = max(1024, 4 * limits.max_bytes // limits.max_rows)
        self._queries = ReadQueries(table, inline_bytes)
        self._conn: Connection[TupleRow] | None = None
        self._catch_up: Connection[TupleRow] | None = None
        self._pages: PageReader | None = None
        self._own_window: WindowPosition | None = None
        self._window_lsn = 0

    def attach(self, cursor: Cursor | None) -> Attached:
        """See :meth:`bridge.journals.base.Journal.attach`."""
        self.close()
        self._conn = conn = connect(self._url, self._label)
        self._catch_up = catch_up = connect(self._url, f"{self._label} catch-up")
        with database_errors(f"attaching journal {self._table.shown}"):
            identity = self._identity.establish(conn, cursor.identity if cursor else None)
            self._require_sound(conn)
            self._barrier.reset()
            self._own_window = None
            self._pages = PageReader(conn, catch_up, self._queries, self._limits)
            position = self._first_position(conn) if cursor is None else cursor.position
            return Attached(identity, position, self._recent(conn, position))

    def read(self, position: Position, *, settle: bool) -> Page:
        """See :meth:`bridge.journals.base.Journal.read`."""
        conn, pages = self._live()
        with database_errors(f"reading journal {self._table.shown}"):
            match position:
                case HistoryPosition():
                    return self._read_history(conn, pages, position)
                case WindowPosition():
                    return self._read_window(conn, pages, position, settle)
                case SequencePosition():
                    raise OperatorError(
                        f"the cursor of journal {self._table.shown} is one of ordering `sequence`",
                        "the journal's url or ordering was changed; change it back",
                    )

    def read_entity(
        self, persistence_id: str, first: int, last: int
    ) -> tuple[list[JournalRow], bool]:
        """See :meth:`bridge.journals.base.Journal.read_entity`."""
        conn, _ = self._live()
        with database_errors(f"reading journal {self._table.shown}"):
            return read_entity(conn, self._queries, self._limits, (persistence_id, first, last))

    def renew_witness(self, committed: JournalIdentity) -> JournalIdentity:
        """See :meth:`bridge.journals.base.Journal.renew_witness`."""
        conn, _ = self._live()
        with database_errors("writing the witness"):
            return self._identity.renew(conn, committed)

    def interrupt(self) -> None:
        """See :meth:`bridge.journals.base.Journal.interrupt`."""
        for conn in (self._conn, self._catch_up):
            if conn is not None:
                with suppress(psycopg.Error):
                    conn.cancel_safe(timeout=CANCEL_TIMEOUT_S)

    def close(self) -> None:
        """See :meth:`bridge.journals.base.Journal.close`."""
        for conn in (self._conn, self._catch_up):
            if conn is not None:
                conn.close()
        self._conn = self._catch_up = self._pages = None

    # --- attaching -------------------------------------------------------------------------

    def _require_sound(self, conn: Connection[TupleRow]) -> None:
        errors = inspect(conn, self._table).errors
        if errors:
            raise SetupError("; ".join(e.what for e in errors), errors[0].hint)

    def _first_position(self, conn: Connection[TupleRow]) -> Position:
        if self._start == "now":
            snapshot, position = self._now(conn)
            self._barrier.pass_(conn, position)
            return WindowPosition(snapshot)
        if not self._queries.has_history:
            return WindowPosition(GENESIS)
        query = self._queries.times_go_back()
        row = conn.execute(query.text, query.params).fetchone()
        return HistoryPosition(by_entity=bool(row and row[0]))

    def _recent(self, conn: Connection[TupleRow], position: Position) -> list[RowKey]:
        if not isinstance(position, WindowPosition):
            return []
        keys = [
            RowKey(pid, seq)
            for query in self._queries.recent(position, RECENT_EVENTS)
            for pid, seq in conn.execute(query.text, query.params)
        ]
        return keys[::-1]

    # --- reading ---------------------------------------------------------------------------

    def _read_history(
        self, conn: Connection[TupleRow], pages: PageReader, position: HistoryPosition
    ) -> Page:
        rows, more = pages.read(position)
        if rows:
            _, insert_position = self._now(conn)
            self._barrier.pass_(conn, insert_position)
        end: Position = position.behind(rows[-1].place) if more else WindowPosition(GENESIS)
        return Page(rows, position, end, drained=False)

    def _read_window(
        self,
        conn: Connection[TupleRow],
        pages: PageReader,
        position: WindowPosition,
        settle: bool,
    ) -> Page:
        window = position if position.new else self._next_window(conn, position)
        if window is None:
            if settle:
                self._barrier.pass_(conn, self._window_lsn)
            return Page((), position, position, drained=True)
        rows, more = pages.read(window)
        if rows or settle:
            self._barrier.pass_(conn, self._window_lsn)
        end = window.behind(rows[-1].place) if more else WindowPosition(window.new or window.old)
        own = self._own_window is not None and self._own_window.new == window.new
        return Page(rows, window, end, drained=own and not more)

    def _next_window(
        self, conn: Connection[TupleRow], position: WindowPosition
    ) -> WindowPosition | None:
        """The window up to now; None when nothing has ended since the last one."""
        snapshot, self._window_lsn = self._now(conn)
        if snapshot == position.old:
            return None
        if not snapshot.follows(position.old):
            raise OperatorError(
                f"journal {self._table.shown}: the server's snapshot {snapshot} lies before the "
                f"cursor's {position.old}",
                "the database was restored or is another one; compare it with `bridge verify`",
            )
        self._own_window = WindowPosition(position.old, snapshot)
        return self._own_window

    def _now(self, conn: Connection[TupleRow]) -> tuple[PgSnapshot, int]:
        row = conn.execute(load("read")["now"]).fetchone()
        if row is None:
            raise UnavailableError("PostgreSQL gave no snapshot", "try again")
        snapshot, inserted, flushed = row
        self._barrier.note_flushed(lsn(flushed))
        return PgSnapshot.parse(snapshot), lsn(inserted)

    def _live(self) -> tuple[Connection[TupleRow], PageReader]:
        if self._conn is None or self._pages is None or self._conn.closed:
            raise UnavailableError(
                f"journal {self._table.shown} is not connected", "it is connected anew by itself"
            )
        return self._conn, self._pages
