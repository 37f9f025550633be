"""Cutting a stream of encoded rows into transactions: by records, bytes and touched partitions.

Time is the fourth limit, kept by whoever produces: a transaction is committed early, never late.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from bridge.core.parking import ParkingChange
from bridge.core.positions import Place, Position
from bridge.core.rows import JournalRow

__all__ = ["Batch", "BatchLimits", "Batcher", "EncodedRow", "Step", "rows_taken"]

R = TypeVar("R")


class EncodedRow(NamedTuple, Generic[R]):
    """A row with the records that it becomes.

    Attributes:
        records: opaque to the core; empty for a row that goes to no topic.
        size: bytes of all records.
        partitions: (topic, partition) of each record.
        problem: why the row cannot be sent, None for nearly all.
        source: the row as the journal gave it, for the records that it becomes when it is parked.
    """

    persistence_id: str
    sequence_nr: int
    place: Place
    records: tuple[R, ...]
    size: int
    partitions: tuple[tuple[str, int], ...]
    problem: str | None
    source: JournalRow | None = None


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Upper bounds of one transaction; the first row of a batch always fits."""

    max_records: int
    max_bytes: int
    max_partitions: int


class Step(NamedTuple, Generic[R]):
    """One row and where the relay stands behind it.

    Attributes:
        row: None only in a batch that moves the cursor without rows.
        window: position that the row's place refines.
        end: position behind the row when it closes its page, else None.
        parking: what the step changes about parked entities, None for nearly all.
    """

    row: EncodedRow[R] | None
    window: Position
    end: Position | None
    parking: ParkingChange | None = None

    @property
    def position(self) -> Position:
        """Position behind the step; made on demand, for few steps ever become a cursor."""
        if self.end is not None:
            return self.end
        return self.window if self.row is None else self.window.behind(self.row.place)


@dataclass(frozen=True, slots=True)
class Batch(Generic[R]):
    """What goes into one transaction: steps in order."""

    steps: tuple[Step[R], ...]


class Batcher(Generic[R]):
    """Queue of steps waiting for a transaction."""

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._steps: deque[Step[R]] = deque()
        self._records = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def full(self) -> bool:
        """True when two whole transactions wait: one to go out next, one to read behind it."""
        limits = self._limits
        return self._records >= 2 * limits.max_records or self._bytes >= 2 * limits.max_bytes

    def add(self, steps: Iterable[Step[R]]) -> None:
        """Queue steps behind those that wait."""
        steps = list(steps)
        self._steps.extend(steps)
        self._count(steps, 1)

    def put_back(self, steps: Iterable[Step[R]]) -> None:
        """Queue steps, in their order, before those that wait: a transaction was cut short."""
        steps = list(steps)
        self._steps.extendleft(reversed(steps))
        self._count(steps, 1)

    def clear(self) -> None:
        """Drop all steps."""
        self._steps.clear()
        self._records = self._bytes = 0

    def take(self) -> Batch[R] | None:
        """The next transaction, None when nothing waits."""
        taken = list(self._steps) if self._fits_whole() else self._cut()
        if not taken:
            return None
        if len(taken) == len(self._steps):
            self.clear()
        else:
            for _ in taken:
                self._steps.popleft()
            self._count(taken, -1)
        return Batch(tuple(taken))

    def _fits_whole(self) -> bool:
        """The common case, decided without a look at each limit for each row."""
        limits = self._limits
        if self._records > limits.max_records or self._bytes > limits.max_bytes:
            return False
        touched: set[tuple[str, int]] = set()
        touched.update(*[step.row.partitions for step in self._steps if step.row is not None])
        return len(touched) <= limits.max_partitions

    def _cut(self) -> list[Step[R]]:
        """The longest beginning of the queue that keeps all limits."""
        limits = self._limits
        taken: list[Step[R]] = []
        records = size = 0
        touched: set[tuple[str, int]] = set()
        for step in self._steps:
            row = step.row
            if row is not None:
                records += _weight(row)
                size += row.size
                new = [pair for pair in row.partitions if pair not in touched]
                # The first row always fits: alone it is as small as it gets.
                if taken and (
                    records > limits.max_records
                    or size > limits.max_bytes
                    or len(touched) + len(new) > limits.max_partitions
                ):
                    break
                touched.update(new)
            taken.append(step)
        return taken

    def _count(self, steps: list[Step[R]], sign: int) -> None:
        rows = [step.row for step in steps if step.row is not None]
        self._records += sign * sum([_weight(row) for row in rows])
        self._bytes += sign * sum([row.size for row in rows])


def rows_taken(steps: Iterable[Step[R]]) -> int:
    """Rows of these steps that were taken from the journal; a released one was counted before."""
    rows = [step.parking for step in steps if step.row is not None]
    return len(rows) - sum([change.released for change in rows if change is not None])


def _weight(row: EncodedRow[R]) -> int:
    """Records that a row counts for; one without any still costs a place in the cursor's walk."""
    return len(row.records) or 1
