"""The lot: where entities are parked. What goes in and comes out is queued as steps."""

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from bridge.core.batching import EncodedRow, Step
from bridge.core.cursor import TopicIdentity
from bridge.core.effects import PageRead, ParkedRead
from bridge.core.parking import MAX_RUNS, ParkedEntity, ParkingChange, ReleaseRequest
from bridge.core.positions import Position
from bridge.core.relay_settings import RelaySettings

__all__ = ["Lot", "RowMarker"]

R = TypeVar("R")


class RowMarker(Protocol[R]):
    """Gives the records of rows that are not published as they are."""

    def mark_late(self, row: EncodedRow[R]) -> EncodedRow[R]:
        """The row whose records say that they break their entity's order."""

    def park(self, row: EncodedRow[R], change: ParkingChange) -> EncodedRow[R]:
        """The row as a dead letter, with the state behind it; `problem` if even that is impossible.

        A row that goes to no topic becomes no dead letter: only the state is recorded.
        """

    def release(self, row: EncodedRow[R] | None, change: ParkingChange) -> EncodedRow[R]:
        """The row's own records with the state behind it; without a row only the state."""

    def topics(self) -> Sequence[TopicIdentity]:
        """The topics that dead letters and state go to."""


class Lot(Generic[R]):
    """Parked entities, twice: as committed, and as they will be once what is queued is committed.

    Attributes:
        entities: by persistence id, as they will be.
        parked, released: steps of each kind committed since the lot was made.
    """

    def __init__(self, settings: RelaySettings, marker: RowMarker[R]) -> None:
        self._journal = settings.journal
        self._limit = settings.max_parked
        self._marker = marker
        self._committed: dict[str, ParkedEntity] = {}
        self._changed = False
        self.entities: dict[str, ParkedEntity] = {}
        self.parked = self.released = 0

    def recall(self, parked: Iterable[ParkedEntity]) -> None:
        """Take what is committed."""
        self._committed = {entity.persistence_id: entity for entity in parked}
        self.reset()

    def reset(self) -> None:
        """What was queued will never be committed."""
        self.entities = dict(self._committed)
        self._changed = False

    def committed(self, steps: Iterable[Step[R]]) -> None:
        """These steps are committed."""
        if self._changed:
            for step in steps:
                if step.parking is not None:
                    _apply(self._committed, step.parking)
                    self.parked += not step.parking.released
                    self.released += step.parking.released

    def park(self, row: EncodedRow[R], order_from: int, page: PageRead[R]) -> Step[R]:
        """The step that parks a row; `problem` of its row says why it must stop instead."""
        known = self.entities.get(row.persistence_id)
        number = row.sequence_nr
        entity = known or ParkedEntity(
            row.persistence_id, ((number, number),), order_from, row.problem or "", page.read_at_ms
        )
        entity = entity.with_number(number)
        if number < (known.first if known else number):
            entity = entity.because(row.problem or "")
        change = ParkingChange(row.persistence_id, entity)
        problem = self._over_limit(known, entity)
        parked = row._replace(problem=problem) if problem else self._marker.park(row, change)
        if parked.problem is None:
            self._apply(change)
        return Step(parked, page.window, None, change)

    def release(
        self, request: ReleaseRequest, read: ParkedRead[R], position: Position
    ) -> list[Step[R]]:
        """Steps that release what was read of an entity, as far as it can be sent by now."""
        entity: ParkedEntity | None = self.entities[request.persistence_id]
        steps: list[Step[R]] = []
        if request.discard is not None and entity is not None:
            if request.discard > entity.first:
                return [self.answer(request, entity, position)]
            if request.discard == entity.first:
                entity = self._discard(request, entity, position, steps)
        for row in read.rows:
            if entity is None or row.sequence_nr < entity.first:
                continue  # it does not wait: it was given up, or is still to be read on its way
            if row.sequence_nr > entity.first or row.problem is not None:
                break
            entity = self._release_first(request, entity, row, position, steps)
        else:
            if entity is None or (read.more and read.problem is None):
                return steps
        if entity is not None:
            steps.append(self.answer(request, self._stuck(entity, read), position))
        return steps

    def answer(
        self, request: ReleaseRequest, entity: ParkedEntity | None, position: Position
    ) -> Step[R]:
        """The step that ends a request and leaves the entity as given."""
        return self._step(
            None, ParkingChange(request.persistence_id, entity, True, request), position
        )

    def _discard(
        self,
        request: ReleaseRequest,
        entity: ParkedEntity,
        position: Position,
        steps: list[Step[R]],
    ) -> ParkedEntity | None:
        left = entity.without_first()
        answered = request if left is None else None
        given_up = (entity.first, request)
        change = ParkingChange(request.persistence_id, left, True, answered, given_up)
        steps.append(self._step(None, change, position))
        return left

    def _release_first(
        self,
        request: ReleaseRequest,
        entity: ParkedEntity,
        row: EncodedRow[R],
        position: Position,
        steps: list[Step[R]],
    ) -> ParkedEntity | None:
        left = entity.without_first()
        answered = request if left is None else None
        change = ParkingChange(request.persistence_id, left, True, answered)
        if row.sequence_nr < entity.order_from:
            row = self._marker.mark_late(row)
        steps.append(self._step(row, change, position))
        return left

    def _step(
        self, row: EncodedRow[R] | None, change: ParkingChange, position: Position
    ) -> Step[R]:
        self._apply(change)
        return Step(self._marker.release(row, change), position, position, change)

    def _stuck(self, entity: ParkedEntity, read: ParkedRead[R]) -> ParkedEntity:
        """The entity with the reason why its first waiting event was not released."""
        problems = {row.sequence_nr: row.problem for row in read.rows}
        shown = f"event {entity.persistence_id!r}/{entity.first}"
        missing = read.problem or f"{shown} is no longer in the journal"
        return entity.because(problems.get(entity.first) or missing)

    def _over_limit(self, known: ParkedEntity | None, entity: ParkedEntity) -> str | None:
        if known is None and len(self.entities) >= self._limit:
            return f"{entity.reason}; {self._limit} entities are parked already, as many as may be"
        if len(entity.waiting) > MAX_RUNS:
            pid = entity.persistence_id
            return f"the waiting events of {pid!r} have more than {MAX_RUNS} gaps in their numbers"
        return None

    def _apply(self, change: ParkingChange) -> None:
        self._changed = True
        _apply(self.entities, change)


def _apply(entities: dict[str, ParkedEntity], change: ParkingChange) -> None:
    if change.after is None:
        entities.pop(change.persistence_id, None)
    else:
        entities[change.persistence_id] = change.after
