"""Cutting a stream of encoded rows into transactions: by records, bytes and touched partitions.

Time is the fourth limit, kept by whoever produces: a transaction is committed early, never late.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from bridge.core.positions import Place, Position

__all__ = ["Batch", "BatchLimits", "Batcher", "EncodedRow", "Step"]

R = TypeVar("R")


class EncodedRow(NamedTuple, Generic[R]):
    """A row with the records that it becomes.

    Attributes:
        records: opaque to the core; empty for a row that goes to no topic.
        size: bytes of all records.
        partitions: (topic, partition) of each record.
        problem: why the row cannot be sent, None for nearly all.
    """

    persistence_id: str
    sequence_nr: int
    place: Place
    records: tuple[R, ...]
    size: int
    partitions: tuple[tuple[str, int], ...]
    problem: str | None


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
    """

    row: EncodedRow[R] | None
    window: Position
    end: Position | None

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
        """True when at least one whole transaction waits: reading further ahead is pointless."""
        return self._records >= self._limits.max_records or self._bytes >= self._limits.max_bytes

    def add(self, steps: Iterable[Step[R]]) -> None:
        """Queue steps behind those that wait."""
        for step in steps:
            self._steps.append(step)
            self._count(step, 1)

    def put_back(self, steps: Iterable[Step[R]]) -> None:
        """Queue steps, in their order, before those that wait: a transaction was cut short."""
        for step in reversed(tuple(steps)):
            self._steps.appendleft(step)
            self._count(step, 1)

    def clear(self) -> None:
        """Drop all steps."""
        self._steps.clear()
        self._records = self._bytes = 0

    def take(self) -> Batch[R] | None:
        """The next transaction, None when nothing waits."""
        steps, limits = self._steps, self._limits
        taken: list[Step[R]] = []
        records = size = 0
        touched: set[tuple[str, int]] = set()
        while steps:
            row = steps[0].row
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
            step = steps.popleft()
            taken.append(step)
            self._count(step, -1)
        return Batch(tuple(taken)) if taken else None

    def _count(self, step: Step[R], sign: int) -> None:
        if step.row is not None:
            self._records += sign * _weight(step.row)
            self._bytes += sign * step.row.size


def _weight(row: EncodedRow[R]) -> int:
    """Records that a row counts for; one without any still costs a place in the cursor's walk."""
    return len(row.records) or 1
