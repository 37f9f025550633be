"""The usual way: poll for rows behind the greatest timestamp seen."""

import bisect
import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from bridge.core.rows import RowKey
from bridge.demo.background import Background
from bridge.demo.databases import BEGINNING, Database
from bridge.demo.story import Deposit
from bridge.demo.writers import Committed

__all__ = ["Missed", "TimestampReader"]

POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Missed:
    """One lost event, and where the reader stood when it was committed.

    Attributes:
        cursor_ms: timestamp of the reader's cursor then.
    """

    event: Committed
    cursor_ms: int


class TimestampReader:
    """Polls as a projection by timestamp cursor does.

    Attributes:
        arrivals: what it got, in order.
    """

    def __init__(self, database: Database) -> None:
        self.arrivals: list[Deposit] = []
        self._database = database
        self._cursor = BEGINNING
        self._moves: list[tuple[int, int]] = []  # when the cursor moved, and to which timestamp
        self._written = threading.Event()
        self._thread = Background("timestamp-reader", self._read)

    def check(self) -> None:
        """Raise what has kept it from reading."""
        self._thread.check()

    def finish(self) -> None:
        """Nothing is written any more: read once more, then end."""
        self._written.set()
        self._thread.join()

    def passed_over(self, committed: Iterable[Committed]) -> list[Committed]:
        """Events that it will never see: at or below its cursor, and not among the arrivals."""
        cursor = self._cursor
        got = {deposit.key for deposit in list(self.arrivals)}
        return [c for c in committed if (c.timestamp_ms, *c.key) <= cursor and c.key not in got]

    def example(self, committed: Collection[Committed], lost: Collection[RowKey]) -> Missed | None:
        """The lost event that the cursor was furthest beyond when it was committed."""
        ours = [Missed(c, self._cursor_at(c.committed_ms)) for c in committed if c.key in lost]
        beyond = [missed for missed in ours if missed.cursor_ms > missed.event.timestamp_ms]
        return max(beyond, key=lambda m: m.cursor_ms - m.event.timestamp_ms, default=None)

    def _cursor_at(self, wall_ms: int) -> int:
        place = bisect.bisect_right(self._moves, wall_ms, key=lambda move: move[0])
        return self._moves[place - 1][1] if place else 0

    def _read(self) -> None:
        session = self._database.connect()
        try:
            last = False
            while not last:
                last = self._written.is_set()  # what was committed before is visible now
                self._take(session.behind(self._cursor))
                self._written.wait(POLL_S)
        finally:
            session.close()

    def _take(self, found: list[Deposit]) -> None:
        if not found:
            return
        self.arrivals += found
        newest = found[-1]
        self._cursor = (newest.timestamp_ms, newest.persistence_id, newest.sequence_nr)
        self._moves.append((time.time_ns() // 1_000_000, newest.timestamp_ms))
