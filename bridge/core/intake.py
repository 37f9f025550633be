"""From pages to transactions: duplicates out, inversions and unsendable rows judged."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from bridge.core.batching import Batch, Batcher, EncodedRow, Step
from bridge.core.effects import PageRead, ParkedRead
from bridge.core.heads import Heads, Sighting
from bridge.core.lot import Lot, RowMarker
from bridge.core.parking import ParkedEntity, ReleaseRequest
from bridge.core.positions import Position
from bridge.core.relay_settings import RelaySettings
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

    def __init__(self, settings: RelaySettings, marker: RowMarker[R]) -> None:
        self._settings = settings
        self._batcher: Batcher[R] = Batcher(settings.limits)
        self._heads = Heads(settings.max_heads)
        self._marker = marker
        self._lot: Lot[R] = Lot(settings, marker)
        self._tail: Position | None = None
        self.halt: BridgeError | None = None
        self.duplicates_dropped = 0
        self.late = 0

    @property
    def full(self) -> bool:
        """True when reading further ahead is pointless."""
        return self._batcher.full

    @property
    def parked(self) -> Mapping[str, ParkedEntity]:
        """Entities that are parked once everything queued is committed."""
        return self._lot.entities

    @property
    def parkings(self) -> tuple[int, int]:
        """Events parked, and steps of releases, committed since the intake was made."""
        return self._lot.parked, self._lot.released

    def recall(self, parked: Iterable[ParkedEntity]) -> None:
        """Take what is committed of parked entities."""
        self._lot.recall(parked)

    def reset(self, position: Position | None = None, recent: Iterable[RowKey] = ()) -> None:
        """Forget all that was read.

        Args:
            position: everything before it is committed; None until that is known.
            recent: events known to be published, oldest first.
        """
        self._batcher.clear()
        self._heads.clear()
        self._lot.reset()
        self._tail = position
        self.halt = None
        for key in recent:
            self._heads.observe(key.persistence_id, key.sequence_nr)

    def take(self) -> Batch[R] | None:
        """The next transaction, None when nothing waits."""
        return self._batcher.take()

    def put_back(self, steps: Iterable[Step[R]]) -> None:
        """Queue again, in front, what a transaction that was cut short left over."""
        self._batcher.put_back(steps)

    def committed(self, steps: Iterable[Step[R]]) -> None:
        """These steps are committed."""
        self._lot.committed(steps)

    def mark(self, position: Position) -> None:
        """Queue a move of the cursor without a row."""
        self._queue([Step(None, position, None)])

    def accept(self, page: PageRead[R]) -> None:
        """Queue the rows of a page, up to the first that must not be published."""
        steps: list[Step[R]] = []
        # Bound once: this runs for every event, and each lookup costs.
        observe, window, expected = self._heads.observe, page.window, Sighting.NEXT
        parked = self._lot.entities
        for row in page.rows:
            persistence_id, sequence_nr, _, _, _, _, problem, _ = row
            sighting = observe(persistence_id, sequence_nr)
            if sighting is expected and problem is None and persistence_id not in parked:
                steps.append(_step((row, window, None, None)))
                continue
            judged = self._judge(row, sighting, page)
            if self.halt is not None:
                break
            if judged is not None:
                steps.append(judged)
        else:
            if steps:
                steps[-1] = steps[-1]._replace(end=page.end)
        self._queue(steps)

    def release(self, request: ReleaseRequest, read: ParkedRead[R]) -> bool:
        """Queue events of a parked entity behind everything that waits; True when it is answered.

        Why nothing of the entity is lost, doubled or overtaken meanwhile: whether an event waits is
        decided here, in the order of the queue, and committed in that order, each step with the
        state behind it. As long as anything of the entity waits, events read from the journal are
        parked behind it; the first one after the last release is queued behind that release.
        """
        steps = self._lot.release(request, read, self._standing())
        self._queue(steps)
        return any(step.parking and step.parking.answered for step in steps)

    def answer(self, request: ReleaseRequest) -> None:
        """Queue the answer to a request about an entity that is not parked."""
        self._queue([self._lot.answer(request, None, self._standing())])

    def _standing(self) -> Position:
        """Where the cursor stands behind everything queued: a release does not move it."""
        if self._tail is None:
            raise ValueError("nothing can be queued before the position is known")
        return self._tail

    def _queue(self, steps: list[Step[R]]) -> None:
        if steps:
            self._tail = steps[-1].position
            self._batcher.add(steps)

    def _judge(self, row: EncodedRow[R], sighting: Sighting, page: PageRead[R]) -> Step[R] | None:
        entity = self._lot.entities.get(row.persistence_id)
        waits = entity is not None and entity.holds(row.sequence_nr)
        if waits or sighting is Sighting.DUPLICATE:
            self.duplicates_dropped += 1
            return None
        if entity is not None and row.sequence_nr < entity.last and sighting is Sighting.NEXT:
            sighting = Sighting.UNKNOWN  # the entity was forgotten, what waits of it was not
        ordered = sighting is Sighting.NEXT
        if not ordered and self._settings.on_inversion != "late":
            self.halt = self._inversion(row, sighting)
            return None
        if row.problem is None and (entity is None or row.sequence_nr < entity.first):
            # It has no place among the waiting ones: all of them come later.
            self.late += 1
            return Step(self._marker.mark_late(row), page.window, None)
        if entity is None and self._settings.on_poison == "stop":
            self.halt = self._unsendable(row.problem or "")
            return None
        head = self._heads.head(row.persistence_id)
        order_from = row.sequence_nr if ordered or head is None else head + 1
        step = self._lot.park(row, order_from, page)
        if step.row is not None and step.row.problem is not None:
            self.halt = self._unsendable(step.row.problem)
            return None
        return step

    def _unsendable(self, problem: str) -> OperatorError:
        return OperatorError(
            f"journal {self._settings.journal}: {problem}",
            "mend the event in the journal or the topic's limits, then start again; "
            "nothing was skipped, everything before it is published",
        )

    def _inversion(self, row: EncodedRow[R], sighting: Sighting) -> OperatorError:
        head = self._heads.head(row.persistence_id)
        return OperatorError(
            f"journal {self._settings.journal}: event {row.persistence_id!r}/{row.sequence_nr} "
            f"became visible after {head} of the same entity ({sighting.value})",
            "a writer probably spreads one entity's events over several connections and commits "
            "them out of order; `on_inversion: late` publishes such events marked bridge_late",
        )
