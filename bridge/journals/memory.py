"""A journal in memory, with the `snapshot` ordering of PostgreSQL; see `memory_database`."""

from collections.abc import Callable

from bridge.core.cursor import Cursor, JournalIdentity
from bridge.core.effects import Attached
from bridge.core.positions import Position, WindowPosition
from bridge.core.rows import JournalRow, Page, RowKey
from bridge.core.snapshot import GENESIS, in_window
from bridge.errors import OperatorError, UnavailableError
from bridge.journals.base import RECENT_EVENTS, PageLimits
from bridge.journals.memory_database import MemoryDatabase
from bridge.journals.witness import new_token, require_same

__all__ = ["MemoryJournal"]


class MemoryJournal:
    """Reads a :class:`MemoryDatabase` as :class:`bridge.journals.base.Journal` describes it.

    Args:
        limits: bounds of a page.
        start: ``beginning`` or ``now``: where to begin without a cursor.
        token: makes witnesses.
    """

    def __init__(
        self,
        *,
        app: str,
        name: str,
        database: MemoryDatabase,
        limits: PageLimits,
        start: str = "beginning",
        token: Callable[[], str] = new_token,
    ) -> None:
        self._relay = (app, name)
        self._database = database
        self._limits = limits
        self._start = start
        self._token = token
        self._life: int | None = None
        self._own_window: WindowPosition | None = None

    def attach(self, cursor: Cursor | None) -> Attached:
        """See :meth:`bridge.journals.base.Journal.attach`."""
        self._life = self._database.lives
        self._own_window = None
        if cursor is None:
            identity = self._write_witness(None)
            return Attached(identity, self._first_position(), ())
        database = self._database
        found = JournalIdentity(database.system, database.timeline, None)
        require_same(self._relay, cursor.identity, found, self._witnesses())
        return Attached(cursor.identity, cursor.position, self._recent(cursor.position))

    def read(self, position: Position, *, settle: bool) -> Page:
        """See :meth:`bridge.journals.base.Journal.read`."""
        with self._database.lock:
            self._require_attached()
            if not isinstance(position, WindowPosition):
                raise OperatorError(
                    f"journal {self._relay[1]} in memory cannot go on from {position}",
                    "the cursor was written for another journal",
                )
            window = position if position.new else self._next_window(position)
            if window is None:
                if settle:
                    self._database.flush()
                return Page((), position, position, drained=True)
            rows, more = self._cut(self._behind(window))
            if rows or settle:
                self._database.flush()
            done = WindowPosition(window.new or window.old)
            end = window.behind(rows[-1].place) if more else done
            own = self._own_window is not None and self._own_window.new == window.new
            return Page(rows, window, end, drained=own and not more)

    def read_entity(
        self, persistence_id: str, first: int, last: int
    ) -> tuple[list[JournalRow], bool]:
        """See :meth:`bridge.journals.base.Journal.read_entity`."""
        with self._database.lock:
            self._require_attached()
            rows = [s.row for s in self._database.rows() if s.row.persistence_id == persistence_id]
            found = [row for row in rows if first <= row.sequence_nr <= last]
            return self._cut(sorted(found, key=lambda row: row.sequence_nr))

    def renew_witness(self, committed: JournalIdentity) -> JournalIdentity:
        """See :meth:`bridge.journals.base.Journal.renew_witness`."""
        self._require_attached()
        return self._write_witness(committed.witness)

    def interrupt(self) -> None:
        """See :meth:`bridge.journals.base.Journal.interrupt`; nothing here takes time."""

    def close(self) -> None:
        """See :meth:`bridge.journals.base.Journal.close`."""
        self._life = None

    def _first_position(self) -> WindowPosition:
        if self._start != "now":
            return WindowPosition(GENESIS)
        with self._database.lock:
            snapshot = self._database.snapshot()
            self._database.flush()
            return WindowPosition(snapshot)

    def _next_window(self, position: WindowPosition) -> WindowPosition | None:
        snapshot = self._database.snapshot()
        if snapshot == position.old:
            return None
        if not snapshot.follows(position.old):
            raise OperatorError(
                f"journal {self._relay[1]}: snapshot {snapshot} lies before the cursor's "
                f"{position.old}",
                "the database was restored or is another one",
            )
        self._own_window = WindowPosition(position.old, snapshot)
        return self._own_window

    def _behind(self, window: WindowPosition) -> list[JournalRow]:
        new = window.new or window.old
        rows = [s.row for s in self._database.rows() if in_window(s.txid, window.old, new)]
        after = window.after
        return sorted(
            (row for row in rows if after is None or row.place > after), key=lambda row: row.place
        )

    def _cut(self, rows: list[JournalRow]) -> tuple[list[JournalRow], bool]:
        room = self._limits.max_bytes
        for count, row in enumerate(rows):
            room -= len(row.payload or b"")
            if count and (room < 0 or count == self._limits.max_rows):
                return rows[:count], True
        return rows, False

    def _recent(self, position: Position) -> list[RowKey]:
        if not isinstance(position, WindowPosition):
            return []
        waiting = {row[:2] for row in self._behind(position)} if position.new else set()
        until = position.new or position.old
        seen = sorted(
            (s.txid, s.row.place, s.row) for s in self._database.rows() if until.sees(s.txid)
        )
        keys = [RowKey(*row[:2]) for _, _, row in seen if row[:2] not in waiting]
        return keys[-RECENT_EVENTS:]

    def _witnesses(self) -> set[str]:
        state = self._database.state()
        keys = ("witness", "witness_previous")
        return {state[(*self._relay, key)] for key in keys if (*self._relay, key) in state}

    def _write_witness(self, previous: str | None) -> JournalIdentity:
        token = self._token()
        values = {(*self._relay, "witness"): token}
        if previous is not None:
            values[*self._relay, "witness_previous"] = previous
        self._database.write_state(values)
        return JournalIdentity(self._database.system, self._database.timeline, token)

    def _require_attached(self) -> None:
        if self._life != self._database.lives:
            raise UnavailableError(
                f"journal {self._relay[1]} is not connected", "it is connected anew by itself"
            )
