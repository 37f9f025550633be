"""What was published lately of each entity: tells duplicates and inversions from new events.

A row that fires its insert trigger twice must not be published twice; a writer that commits number
n+1 of an entity before n must not have n dropped by a duplicate filter downstream. Both show as a
number at or below the entity's last one; which of the two it is, only the numbers seen can tell.
"""

from enum import Enum

__all__ = ["Heads", "Sighting"]

MAX_HOLES = 64
"""Missing numbers remembered per entity; beyond it, older knowledge of the entity is given up."""


class Sighting(Enum):
    """What a row's number says, given what is remembered of its entity.

    An entity that was forgotten starts anew: an old number of it is then taken for a new one.
    """

    NEXT = "above everything known of the entity"
    DUPLICATE = "already published"
    INVERTED = "below the entity's last number, and not published: it was committed out of order"
    UNKNOWN = "below the entity's first known number: published long ago, or out of order"


class Heads:
    """Bounded memory of published numbers, least recently used entities forgotten first.

    Args:
        max_entities: how many entities are remembered at least; twice as many at most.
    """

    def __init__(self, max_entities: int) -> None:
        self._max_entities = max_entities
        self._young: dict[str, _Run] = {}
        self._old: dict[str, _Run] = {}

    def clear(self) -> None:
        """Forget everything: what was read but not committed must not count as published."""
        self._young, self._old = {}, {}

    def head(self, persistence_id: str) -> int | None:
        """Highest known number of the entity."""
        run = self._young.get(persistence_id) or self._old.get(persistence_id)
        return None if run is None else run.head

    def observe(self, persistence_id: str, sequence_nr: int) -> Sighting:
        """Judge a row and remember it, whatever the verdict."""
        run = self._young.get(persistence_id)
        if run is not None and run.head + 1 == sequence_nr:  # nearly always
            run.head = sequence_nr
            return Sighting.NEXT
        run = run or self._recall(persistence_id)
        if run is None:
            self._remember(persistence_id, _Run(sequence_nr))
            return Sighting.NEXT
        if sequence_nr > run.head:
            run.advance(sequence_nr)
            return Sighting.NEXT
        return run.judge_past(sequence_nr)

    def _recall(self, persistence_id: str) -> "_Run | None":
        run = self._old.pop(persistence_id, None)
        if run is not None:
            self._remember(persistence_id, run)
        return run

    def _remember(self, persistence_id: str, run: "_Run") -> None:
        if len(self._young) >= self._max_entities:
            self._old, self._young = self._young, {}
        self._young[persistence_id] = run


class _Run:
    """Numbers known of one entity: all from `first` to `head` except the holes."""

    __slots__ = ("first", "head", "holes")

    def __init__(self, sequence_nr: int) -> None:
        self.first = sequence_nr
        self.head = sequence_nr
        self.holes: set[int] = set()

    def advance(self, sequence_nr: int) -> None:
        skipped = sequence_nr - self.head - 1
        self.head = sequence_nr
        if skipped == 0:
            return
        if skipped + len(self.holes) > MAX_HOLES:
            self.first = sequence_nr
            self.holes.clear()
        else:
            self.holes.update(range(sequence_nr - skipped, sequence_nr))

    def judge_past(self, sequence_nr: int) -> Sighting:
        if sequence_nr < self.first:
            return Sighting.UNKNOWN
        if sequence_nr in self.holes:
            self.holes.discard(sequence_nr)
            return Sighting.INVERTED
        return Sighting.DUPLICATE
