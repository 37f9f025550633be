"""Entities whose events wait in the dead-letter topic, and how they get out again.

The first event of an entity that cannot be sent parks the entity: it and all later ones wait, in
order, until an operator asks for their release. Every step that changes this carries the state
behind it, as `ParkingChange`: a transaction may be cut after any step, and what it commits is the
state at exactly that place.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

__all__ = ["MAX_RUNS", "ParkedEntity", "ParkingChange", "ReleaseRequest"]

MAX_RUNS = 1_000
"""Gaps that the waiting numbers of one entity may have; each release needs them exactly."""


@dataclass(frozen=True, slots=True)
class ParkedEntity:
    """An entity whose events wait.

    Attributes:
        waiting: numbers of the waiting events, as runs (first, last) in rising order. Events that
            belong to no topic are among them: runs stay few, and nothing overtakes.
        order_from: smallest number that may be released without breaking the entity's order; below
            it something higher was published before.
        reason: why the first waiting event cannot be sent, or could not be released.
        parked_at_ms: when the entity was parked, milliseconds since 1970-01-01 UTC.
    """

    persistence_id: str
    waiting: tuple[tuple[int, int], ...]
    order_from: int
    reason: str
    parked_at_ms: int

    @property
    def first(self) -> int:
        """The number that has to be released first."""
        return self.waiting[0][0]

    @property
    def last(self) -> int:
        """The highest waiting number."""
        return self.waiting[-1][1]

    @property
    def count(self) -> int:
        """How many events wait."""
        return sum(last - first + 1 for first, last in self.waiting)

    def holds(self, sequence_nr: int) -> bool:
        """Whether this event waits."""
        return self._run_of(sequence_nr) is not None

    def with_number(self, sequence_nr: int) -> "ParkedEntity":
        """The entity with one more waiting event."""
        if self.holds(sequence_nr):
            return self
        runs: list[tuple[int, int]] = []
        for first, last in sorted([*self.waiting, (sequence_nr, sequence_nr)]):
            if runs and runs[-1][1] + 1 == first:
                runs[-1] = (runs[-1][0], last)
            else:
                runs.append((first, last))
        return replace(self, waiting=tuple(runs))

    def without_first(self) -> "ParkedEntity | None":
        """The entity without its first waiting event; None when that was the last one."""
        (first, last), *others = self.waiting
        runs = others if first == last else [(first + 1, last), *others]
        return replace(self, waiting=tuple(runs)) if runs else None

    def because(self, reason: str) -> "ParkedEntity":
        """The same with another reason."""
        return replace(self, reason=reason)

    def _run_of(self, sequence_nr: int) -> tuple[int, int] | None:
        i = bisect_right(self.waiting, sequence_nr, key=_first_of) - 1
        return self.waiting[i] if i >= 0 and sequence_nr <= self.waiting[i][1] else None


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """What an operator wants to be done with a parked entity.

    Attributes:
        request_id: tells this request from earlier ones about the entity.
        discard: number of the event that is given up before the rest is released; None: none.
        by: who asks.
        note: why, in the operator's words; empty when nothing was said.
        requested_at_ms: when, milliseconds since 1970-01-01 UTC.
    """

    persistence_id: str
    request_id: str
    discard: int | None
    by: str
    note: str
    requested_at_ms: int


class ParkingChange(NamedTuple):
    """What a step changes about parked entities.

    Attributes:
        after: the entity behind the step; None: it is no longer parked.
        released: True when the step is part of a release; its row was taken from the journal, and
            counted, long before.
        answered: the request that the step ends.
        discarded: number of the event that the step gives up by that request.
    """

    persistence_id: str
    after: ParkedEntity | None
    released: bool = False
    answered: ReleaseRequest | None = None
    discarded: tuple[int, ReleaseRequest] | None = None


def _first_of(run: Sequence[int]) -> int:
    return run[0]
