"""The SQLite journal with the `sequence` ordering: the position is the last row's number.

SQLite has one writer at a time, so rows are numbered in the order in which they are committed, and
AUTOINCREMENT never hands out a number again that a committed row had.
"""

import os
import sqlite3
from collections.abc import Callable

from bridge.core.cursor import Cursor, JournalIdentity
from bridge.core.effects import Attached
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.rows import JournalRow, Page, RowKey
from bridge.errors import OperatorError, SetupError, UnavailableError
from bridge.journals.base import RECENT_EVENTS, PageLimits
from bridge.journals.sqlite.durable import flush_files
from bridge.journals.sqlite.identity import IdentityKeeper
from bridge.journals.sqlite.inspect import inspect
from bridge.journals.sqlite.pages import PageReader
from bridge.journals.sqlite.session import connect, database_errors, path_of
from bridge.journals.sqlite.table import SqliteTable
from bridge.journals.witness import new_token

__all__ = ["SqliteJournal"]


class SqliteJournal:
    """One journal table of one file, as :class:`bridge.journals.base.Journal` describes it.

    Args:
        url: ``sqlite:///path`` of an existing file.
        table: what to read.
        limits: bounds of a page.
        start: ``beginning`` or ``now``: where to begin without a cursor.
        token: makes witnesses and the file's id; only tests give another one.
        flush: makes the files at a path durable; only tests give another one.
    """

    def __init__(
        self,
        *,
        app: str,
        name: str,
        url: str,
        table: SqliteTable,
        limits: PageLimits,
        start: str = "beginning",
        token: Callable[[], str] = new_token,
        flush: Callable[[str], None] = flush_files,
    ) -> None:
        self._url = url
        self._table = table
        self._limits = limits
        self._start = start
        self._identity = IdentityKeeper(app, name, table.table, token)
        self._flush = flush
        self._conn: sqlite3.Connection | None = None
        self._pages: PageReader | None = None
        self._path = ""
        self._file: tuple[int, int] | None = None

    def attach(self, cursor: Cursor | None) -> Attached:
        """See :meth:`bridge.journals.base.Journal.attach`."""
        self.close()
        self._path = path_of(self._url)
        self._conn = conn = connect(self._url)
        self._file = _file_id(self._path)
        with database_errors(f"attaching journal {self._table.table} in {self._path}"):
            self._require_sound(conn)
            identity = self._identity.establish(conn, cursor.identity if cursor else None)
            self._pages = PageReader(conn, self._table, self._limits)
            position = self._first_position(conn) if cursor is None else cursor.position
            if isinstance(position, SequencePosition):
                self._require_not_reset(conn, position)
            return Attached(identity, position, self._recent(conn, position))

    def read(self, position: Position, *, settle: bool) -> Page:  # noqa: ARG002
        """See :meth:`bridge.journals.base.Journal.read`.

        Settling costs nothing here: a position without rows behind it is that of a row delivered
        before, and so durable.
        """
        conn, pages = self._live()
        with database_errors(f"reading journal {self._table.table} in {self._path}"):
            match position:
                case HistoryPosition():
                    return self._read_history(pages, position)
                case SequencePosition():
                    return self._read_rows(conn, pages, position)
                case WindowPosition():
                    raise OperatorError(
                        f"the cursor of journal {self._table.table} is one of ordering `snapshot`",
                        "the journal's url or ordering was changed; change it back",
                    )

    def read_entity(
        self, persistence_id: str, first: int, last: int
    ) -> tuple[list[JournalRow], bool]:
        """See :meth:`bridge.journals.base.Journal.read_entity`."""
        _, pages = self._live()
        with database_errors(f"reading journal {self._table.table} in {self._path}"):
            return pages.read_entity(persistence_id, first, last)

    def renew_witness(self, committed: JournalIdentity) -> JournalIdentity:
        """See :meth:`bridge.journals.base.Journal.renew_witness`."""
        conn, _ = self._live()
        with database_errors(f"writing the witness into {self._path}"):
            return self._identity.renew(conn, committed)

    def interrupt(self) -> None:
        """See :meth:`bridge.journals.base.Journal.interrupt`."""
        if self._conn is not None:
            self._conn.interrupt()

    def close(self) -> None:
        """See :meth:`bridge.journals.base.Journal.close`."""
        if self._conn is not None:
            self._conn.close()
        self._conn = self._pages = None

    # --- attaching -------------------------------------------------------------------------

    def _require_sound(self, conn: sqlite3.Connection) -> None:
        errors = inspect(conn, self._table).errors
        if errors:
            raise SetupError("; ".join(e.what for e in errors), errors[0].hint)

    def _first_position(self, conn: sqlite3.Connection) -> Position:
        if self._start == "now":
            highest = self._highest(conn)
            self._make_durable()
            return SequencePosition(highest)
        if self._table.install is None:
            return SequencePosition(0)
        row = conn.execute(self._table.sql("read", "times_go_back")).fetchone()
        return HistoryPosition(by_entity=bool(row[0]))

    def _recent(self, conn: sqlite3.Connection, position: Position) -> list[RowKey]:
        if not isinstance(position, SequencePosition):
            return []
        params = {"after": position.after, "limit": RECENT_EVENTS}
        found = conn.execute(self._table.sql("read", "recent"), params).fetchall()
        return [RowKey(pid, nr) for pid, nr in reversed(found)]

    # --- reading ---------------------------------------------------------------------------

    def _read_history(self, pages: PageReader, position: HistoryPosition) -> Page:
        rows, more = pages.read(position)
        if rows:
            self._make_durable()
        end: Position = position.behind(rows[-1].place) if more else SequencePosition(0)
        return Page(rows, position, end, drained=False)

    def _read_rows(
        self, conn: sqlite3.Connection, pages: PageReader, position: SequencePosition
    ) -> Page:
        rows, more = pages.read(position)
        if not rows:
            self._require_not_reset(conn, position)
            return Page((), position, position, drained=True)
        self._make_durable()
        return Page(rows, position, position.behind(rows[-1].place), drained=not more)

    def _require_not_reset(self, conn: sqlite3.Connection, position: SequencePosition) -> None:
        """Numbers that begin anew would be below the cursor, and never read."""
        highest = self._highest(conn)
        if highest < position.after:
            raise OperatorError(
                f"journal {self._table.table} in {self._path}: its rows are numbered up to "
                f"{highest}, the cursor stands behind {position.after}",
                "the table was made anew, its sqlite_sequence was reset, or the file was restored: "
                "further events would not be seen; compare with `bridge verify`",
            )

    def _highest(self, conn: sqlite3.Connection) -> int:
        params = {"read_table": self._table.read_table}
        return int(conn.execute(self._table.sql("read", "highest"), params).fetchone()[0])

    def _make_durable(self) -> None:
        try:
            self._flush(self._path)
        except OSError as e:
            raise UnavailableError(
                f"SQLite: flushing {self._path}: {e}", "check the disk; it goes on by itself"
            ) from e

    def _live(self) -> tuple[sqlite3.Connection, PageReader]:
        if self._conn is None or self._pages is None:
            raise UnavailableError(
                f"journal {self._table.table} is not connected", "it is connected anew by itself"
            )
        if _file_id(self._path) != self._file:
            # What was opened is no longer what the application writes to.
            raise UnavailableError(
                f"file {self._path} was replaced or removed", "it is opened anew by itself"
            )
        return self._conn, self._pages


def _file_id(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return (status.st_dev, status.st_ino)
