"""A read model in memory, for tests of handlers; a full member of the contract."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from bridge.core.projected import (
    Claim,
    EntityKey,
    Known,
    PartitionKey,
    Seen,
    StoredOffset,
    forgotten_below,
)
from bridge.readmodels.base import ClaimLostError

__all__ = ["MemoryStore"]

_Sightings = dict[tuple[str, str, EntityKey, int], tuple[int, int]]


class MemoryStore:
    """Offsets and a read model that live as long as this object.

    A handler's transaction is a dictionary: a copy of `rows`, which it replaces at the commit.

    Attributes:
        rows: the read model as committed.
    """

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}
        self._offsets: dict[PartitionKey, StoredOffset] = {}
        self._late: _Sightings = {}
        self._heads: dict[tuple[str, str, EntityKey], tuple[int, int, int]] = {}

    async def open(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """Everything is kept."""

    async def stored(self, projection: str) -> Mapping[tuple[str, int], StoredOffset]:
        """All offsets of a projection by topic and partition."""
        return {
            (key.topic, key.partition): stored
            for key, stored in self._offsets.items()
            if key.projection == projection
        }

    async def claim(self, key: PartitionKey, topic_id: str, initial: int) -> Claim:
        """Take a partition over."""
        found = self._offsets.get(key) or StoredOffset(0, initial, topic_id, None)
        stored = self._offsets[key] = replace(found, epoch=found.epoch + 1)
        return Claim(key, stored.epoch, stored.next_offset, stored.topic_id, stored.leader_epoch)

    async def known(self, key: PartitionKey, entities: Iterable[EntityKey]) -> Known:
        """What was applied of these entities from the partition's topic."""
        wanted = set(entities)
        heads = {
            entity: self._heads[key.projection, key.topic, entity][0]
            for entity in wanted
            if (key.projection, key.topic, entity) in self._heads
        }
        late = [
            (entity, number)
            for projection, topic, entity, number in self._late
            if (projection, topic) == key[:2] and entity in wanted
        ]
        return Known(heads, late)

    @asynccontextmanager
    async def advance(
        self, claim: Claim, to: int, seen: Sequence[Seen]
    ) -> AsyncIterator[dict[Any, Any]]:
        """A transaction that moves the offset to `to`."""
        self._require(claim)
        rows = dict(self.rows)
        yield rows
        self._require(claim)  # there is no lock that would have kept others away
        stored = self._offsets[claim.key]
        self._offsets[claim.key] = replace(stored, next_offset=to, leader_epoch=claim.leader_epoch)
        self.rows = rows
        self._remember(claim, to, seen)

    async def call_plain(
        self, tx: dict[Any, Any], function: Callable[[dict[Any, Any]], object]
    ) -> None:
        """Call a plain function with the same dictionary."""
        function(tx)

    def is_gone(self, error: BaseException) -> bool:  # noqa: ARG002 - there is no connection
        """Memory is never gone."""
        return False

    def _require(self, claim: Claim) -> None:
        stored = self._offsets.get(claim.key)
        if stored is None or (stored.epoch, stored.next_offset, stored.topic_id) != (
            claim.epoch,
            claim.next_offset,
            claim.topic_id,
        ):
            raise ClaimLostError

    def _remember(self, claim: Claim, to: int, seen: Sequence[Seen]) -> None:
        projection, topic, partition = claim.key
        for event in seen:
            place = (partition, event.offset)
            if event.late:
                self._late[projection, topic, event.key, event.sequence_nr] = place
            else:
                self._heads[projection, topic, event.key] = (event.sequence_nr, *place)
        limit = forgotten_below(claim.next_offset, to)
        if limit is None:
            return
        kept = {
            k: v
            for k, v in self._late.items()
            if k[:2] != claim.key[:2] or v[0] != partition or v[1] >= limit
        }
        self._late = kept
        self._heads = {
            k: v
            for k, v in self._heads.items()
            if k[:2] != claim.key[:2] or v[1] != partition or v[2] >= limit
        }
