"""What a projection remembers: how far it is in each partition, and the last number of each entity.

Both live in the read model's database and change together with the read model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "MEMORY_OFFSETS",
    "Claim",
    "EntityKey",
    "Known",
    "PartitionKey",
    "Seen",
    "StoredOffset",
    "forgotten_below",
]

MEMORY_OFFSETS = 1_000_000
"""Offsets of a partition behind which an entity that was not seen since is forgotten."""

_SWEEP_OFFSETS = 10_000
"""Forgetting is done once for so many offsets."""


class PartitionKey(NamedTuple):
    """A partition as one projection reads it."""

    projection: str
    topic: str
    partition: int


class EntityKey(NamedTuple):
    """An entity of one source; the id as its UTF-8 bytes, which any database can hold."""

    source: str
    entity: bytes


class Seen(NamedTuple):
    """An event that is about to be applied.

    Attributes:
        late: marked as breaking the order of its entity.
        offset: of its record.
    """

    key: EntityKey
    sequence_nr: int
    late: bool
    offset: int


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """How far a projection is in a partition.

    Attributes:
        epoch: grows with each change of the owner; what an earlier owner commits is refused.
        next_offset: everything below it is applied.
        topic_id: the topic that the offset belongs to; another one of that name has another id.
        leader_epoch: of the partition's leader that served what was applied; None: not known.
    """

    epoch: int
    next_offset: int
    topic_id: str
    leader_epoch: int | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's right to move a partition's offset, as long as nobody claims it anew."""

    key: PartitionKey
    epoch: int
    next_offset: int
    topic_id: str
    leader_epoch: int | None


class Known:
    """Numbers of entities that were applied; tells a repeated event from a new one.

    Args:
        heads: last number of each entity, late events left aside.
        late: late events that were applied.
    """

    def __init__(self, heads: Mapping[EntityKey, int], late: Iterable[tuple[EntityKey, int]]):
        self._heads = dict(heads)
        self._late = set(late)

    def is_new(self, event: Seen) -> bool:
        """Judge an event and remember it.

        A number at or below the entity's last one is a repetition, unless its record is marked
        late: then only the same late event, applied before, makes it one.
        """
        head = self._heads.get(event.key, 0)
        if event.late:
            if (event.key, event.sequence_nr) in self._late:
                return False
            self._late.add((event.key, event.sequence_nr))
        elif event.sequence_nr <= head:
            return False
        self._heads[event.key] = max(head, event.sequence_nr)
        return True


def forgotten_below(from_offset: int, to_offset: int) -> int | None:
    """Below which offset entities last seen are forgotten by this step; None: by none of them."""
    due = from_offset // _SWEEP_OFFSETS != to_offset // _SWEEP_OFFSETS
    limit = to_offset - MEMORY_OFFSETS
    return limit if due and limit > 0 else None
