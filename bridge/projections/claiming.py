"""Taking over a partition: where to read on, and whether the topic is still what it was."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from bridge.core.cursor import TopicIdentity
from bridge.core.projected import Claim, PartitionKey
from bridge.errors import OperatorError, UnavailableError
from bridge.kafka.partition_logs import LogRange
from bridge.projections.ports import Logs, Place, Topics
from bridge.projections.projection import Projection

__all__ = ["Claims"]

_PATIENCE = 10
"""Looks at a log that ends below the stored offset; a leader just elected may be behind."""


class Claims:
    """Claims partitions of one projection and checks what they rest on."""

    def __init__(self, projection: Projection, topics: Topics, logs: Logs) -> None:
        self._projection = projection
        self._store = projection.store
        self._topics = topics
        self._logs = logs
        self._short: dict[Place, int] = {}

    async def take(self, places: Collection[Place]) -> dict[Place, Claim]:
        """Claim partitions; topics that are gone in this moment are left out.

        Raises:
            OperatorError: the stored offset does not fit the topic; it stays as it is.
        """
        names = {topic for topic, _ in places}
        identities = await asyncio.to_thread(self._topics.identities, names)
        there = [(t, p) for t, p in places if t in identities and p < identities[t].partitions]
        # Before any fetch: what this leader has served is known to come from this epoch.
        ranges = await asyncio.to_thread(self._logs.ranges, there)
        stored = await self._store.stored(self._projection.name)
        return {
            place: await self._claim(
                place, identities[place[0]], ranges[place], first=place not in stored
            )
            for place in there
        }

    async def ends(self, topics: Iterable[TopicIdentity]) -> dict[Place, int]:
        """Ends of all partitions that hold, or once held, a record."""
        places = [(topic.name, p) for topic in topics for p in range(topic.partitions)]
        ranges = await asyncio.to_thread(self._logs.ranges, places)
        return {place: log.end for place, log in ranges.items() if log.end > 0}

    async def is_behind(
        self, topics: Mapping[str, TopicIdentity], ends: Mapping[Place, int]
    ) -> bool:
        """Whether something below these ends is still to be applied, by whoever of the group."""
        stored = await self._store.stored(self._projection.name)
        for place, end in ends.items():
            found = stored.get(place)
            if found is None or found.next_offset < end:
                return True
            if found.topic_id != topics[place[0]].topic_id:
                return True  # the offset is that of another topic; a claim will say so
        # Beyond the ends of now lies only an offset of a log that was cut short.
        now = await asyncio.to_thread(self._logs.ranges, ends)
        return any(stored[place].next_offset > log.end for place, log in now.items())

    async def check(self, claims: Mapping[Place, Claim]) -> set[Place]:
        """Partitions whose leader has changed: they are to be claimed anew.

        Clients do not notice that a topic was deleted and made anew: they go on at the same offset
        of other records. So this is asked after a fetch and before its effects are committed.

        Raises:
            OperatorError: a topic is not the one that the offsets belong to.
        """
        names = {topic for topic, _ in claims}
        identities = await asyncio.to_thread(self._topics.identities, names)
        for (topic, _), claim in claims.items():
            self._require_same(claim, identities.get(topic))
        epochs = await asyncio.to_thread(self._logs.leader_epochs, claims)
        return {place for place, claim in claims.items() if epochs[place] != claim.leader_epoch}

    async def _claim(
        self, place: Place, identity: TopicIdentity, log: LogRange, *, first: bool
    ) -> Claim:
        earliest = self._projection.start == "earliest-available"
        if first and not earliest and log.start > 0:
            raise self._gone(place, 0, log, "start='earliest-available' begins with what is left")
        key = PartitionKey(self._projection.name, *place)
        initial = log.start if earliest else 0
        claim = await self._store.claim(key, identity.topic_id, initial)
        self._require_same(claim, identity)
        if claim.next_offset < log.start:
            raise self._gone(
                place,
                claim.next_offset,
                log,
                "the stored offset is left as it is; rebuild the read model under another name, "
                "or accept the loss as the documentation of projections says",
            )
        await self._require_untruncated(place, claim, log)
        return replace(claim, leader_epoch=log.leader_epoch)

    def _gone(self, place: Place, offset: int, log: LogRange, hint: str) -> OperatorError:
        return OperatorError(
            f"projection {self._projection.name}: partition {place[1]} of topic {place[0]} begins "
            f"at offset {log.start}: offsets {offset} to {log.start - 1} are gone, "
            f"{log.start - offset} records at most were lost",
            hint,
        )

    def _require_same(self, claim: Claim, found: TopicIdentity | None) -> None:
        topic = claim.key.topic
        if found is None:  # deleted, or not known yet to a broker that has just started
            raise UnavailableError(
                f"Kafka: topic {topic} (id {claim.topic_id}) is not there",
                "if it was deleted, the projection's offsets belong to records that are gone",
            )
        if found.topic_id == claim.topic_id:
            return
        raise OperatorError(
            f"projection {self._projection.name}: topic {topic} (id {claim.topic_id}) was deleted "
            f"and made anew (id {found.topic_id}): the stored offset {claim.next_offset} belongs "
            "to records that are gone",
            "rebuild the read model under another name from the topic as it is now",
        )

    async def _require_untruncated(self, place: Place, claim: Claim, log: LogRange) -> None:
        offset, epoch = claim.next_offset, claim.leader_epoch
        if epoch is not None and log.leader_epoch is not None:
            # Under one leader a log only grows; another one has to be asked.
            suspect = offset > log.end or (offset > 0 and epoch != log.leader_epoch)
            if suspect and await asyncio.to_thread(self._logs.was_truncated, place, offset, epoch):
                raise self._truncated(place, offset)
            return
        self._short[place] = self._short.get(place, 0) + 1 if offset > log.end else 0
        if self._short[place] > _PATIENCE:
            raise self._truncated(place, offset)
        if self._short[place] > 0:
            raise UnavailableError(
                f"Kafka: partition {place[1]} of {place[0]} ends at offset {log.end}, below the "
                f"stored {offset}",
                "a leader that was just elected may be behind; it goes on by itself",
            )

    def _truncated(self, place: Place, offset: int) -> OperatorError:
        return OperatorError(
            f"projection {self._projection.name}: partition {place[1]} of topic {place[0]} has "
            f"lost records below the stored offset {offset}: its log was truncated",
            "a broker lost acknowledged records; rebuild the read model under another name",
        )
