"""From pages to transactions: duplicates out, inversions and unsendable rows judged."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from bridge.core.batching import Batch, Batcher, BatchLimits, EncodedRow, Step
from bridge.core.effects import PageRead
from bridge.core.heads import Heads, Sighting
from bridge.core.positions import Position
from bridge.core.rows import RowKey
from bridge.errors import BridgeError, OperatorError

__all__ = ["Intake"]

R = TypeVar("R")

# Millions of these are made: a named tuple's own constructor is a Python function, twice as slow.
_step: Callable[[tuple[object, ...]], Step[Any]] = partial(tuple.__new__, Step)


class Intake(Generic[R]):
    """Queue of rows that were read and not yet committed.

    Attributes:
        halt: why the relay must stop once everything queued is committed; None while all is well.
        duplicates_dropped, late: counts since the intake was made.
    """

    def __init__(
        self,
        journal: str,
        limits: BatchLimits,
        max_heads: int,
        on_inversion: Literal["stop", "late"],
        mark_late: Callable[[EncodedRow[R]], EncodedRow[R]],
    ) -> None:
        self._journal = journal
        self._batcher: Batcher[R] = Batcher(limits)
        self._heads = Heads(max_heads)
        self._on_inversion = on_inversion
        self._mark_late = mark_late
        self.halt: BridgeError | None = None
        self.duplicates_dropped = 0
        self.late = 0

    @property
    def full(self) -> bool:
        """True when reading further ahead is pointless."""
        return self._batcher.full

    def reset(self, recent: Iterable[RowKey] = ()) -> None:
        """Forget all that was read; `recent` events are known to be published, oldest first."""
        self._batcher.clear()
        self._heads.clear()
        self.halt = None
        for key in recent:
            self._heads.observe(key.persistence_id, key.sequence_nr)

    def take(self) -> Batch[R] | None:
        """The next transaction, None when nothing waits."""
        return self._batcher.take()

    def put_back(self, steps: Iterable[Step[R]]) -> None:
        """Queue again, in front, what a transaction that was cut short left over."""
        self._batcher.put_back(steps)

    def mark(self, position: Position) -> None:
        """Queue a move of the cursor without a row."""
        self._batcher.add([Step(None, position, None)])

    def accept(self, page: PageRead[R]) -> None:
        """Queue the rows of a page, up to the first that must not be published."""
        steps: list[Step[R]] = []
        # Bound once: this runs for every event, and each lookup costs.
        observe, window, expected = self._heads.observe, page.window, Sighting.NEXT
        for row in page.rows:
            persistence_id, sequence_nr, _, _, _, _, problem = row
            sighting = observe(persistence_id, sequence_nr)
            if sighting is expected and problem is None:
                steps.append(_step((row, window, None)))
                continue
            judged = self._judge(row, sighting)
            if self.halt is not None:
                break
            if judged is not None:
                steps.append(Step(judged, window, None))
        else:
            if steps:
                steps[-1] = steps[-1]._replace(end=page.end)
        self._batcher.add(steps)

    def _judge(self, row: EncodedRow[R], sighting: Sighting) -> EncodedRow[R] | None:
        if sighting is Sighting.DUPLICATE:
            self.duplicates_dropped += 1
            return None
        if row.problem is not None:
            self.halt = OperatorError(
                f"journal {self._journal}: {row.problem}",
                "mend the event in the journal or the topic's limits, then start again; "
                "nothing was skipped, everything before it is published",
            )
            return None
        if self._on_inversion == "late":
            self.late += 1
            return self._mark_late(row)
        self.halt = self._inversion(row, sighting)
        return None

    def _inversion(self, row: EncodedRow[R], sighting: Sighting) -> OperatorError:
        head = self._heads.head(row.persistence_id)
        return OperatorError(
            f"journal {self._journal}: event {row.persistence_id!r}/{row.sequence_nr} became "
            f"visible after {head} of the same entity ({sighting.value})",
            "a writer probably spreads one entity's events over several connections and commits "
            "them out of order; `on_inversion: late` publishes such events marked bridge_late",
        )
