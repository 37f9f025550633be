"""Counting: what was delivered against what is in the journal. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bridge.core.rows import RowKey
from bridge.demo.story import Deposit

__all__ = ["Balance", "Tally", "differing", "fold", "tally"]


class Balance(NamedTuple):
    """What a read model knows of an account."""

    deposits: int
    total: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the journal's events.

    Attributes:
        delivered: different events of the journal that arrived.
        lost: events that did not.
        duplicated: arrivals beyond the first of each event.
        inverted: first arrivals behind a higher number of the same entity.
        unexpected: arrivals of events that are not in the journal.
    """

    delivered: int
    lost: int
    duplicated: int
    inverted: int
    unexpected: int

    @property
    def clean(self) -> bool:
        """Every event arrived once and in order."""
        return not (self.lost or self.duplicated or self.inverted or self.unexpected)


def tally(journal: Collection[RowKey], arrivals: Sequence[RowKey]) -> Tally:
    """Compare arrivals, in their order, with the journal."""
    known, seen = set(journal), set[RowKey]()
    heads: dict[str, int] = {}
    inverted = 0
    for key in arrivals:
        if key in seen:
            continue
        seen.add(key)
        head = heads.get(key.persistence_id, 0)
        inverted += key.sequence_nr < head
        heads[key.persistence_id] = max(head, key.sequence_nr)
    return Tally(
        delivered=len(known & seen),
        lost=len(known - seen),
        duplicated=len(arrivals) - len(seen),
        inverted=inverted,
        unexpected=len(seen - known),
    )


def fold(deposits: Iterable[Deposit]) -> dict[str, Balance]:
    """The balances that a read model must hold after these events."""
    balances: dict[str, Balance] = defaultdict(lambda: Balance(0, 0))
    for deposit in deposits:
        before = balances[deposit.persistence_id]
        after = Balance(before.deposits + 1, before.total + deposit.amount)
        balances[deposit.persistence_id] = after
    return dict(balances)


def differing(model: Mapping[str, Balance], truth: Mapping[str, Balance]) -> int:
    """Accounts that a read model does not have as they must be."""
    return sum(model.get(name) != truth.get(name) for name in model.keys() | truth.keys())
