"""One member of a projection's group: topics, partitions, claims, batches."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import structlog

from bridge.core.backoff import Backoff
from bridge.core.projected import Claim
from bridge.envelope.inbound import InboundRecord
from bridge.envelope.subscription import Subscription
from bridge.errors import UnavailableError
from bridge.projections.applying import Applier
from bridge.projections.claiming import Claims
from bridge.projections.ports import Consumer, Place, Topics
from bridge.projections.projection import Projection

__all__ = ["Worker"]

_log = structlog.get_logger("bridge.projection")

REVOCATION_S = 8.0
"""How long the group waits for the batch in flight; its effects are fenced afterwards."""

_TOPICS_EVERY_S = 2.0
_WARN_EVERY_S = 60.0
_CAUGHT_UP_PAUSE_S = 0.05
_RECLAIM_S = 1.0
"""Pause before a lost partition is claimed again: the group may be about to take it away."""

_RETRY_PAUSE = Backoff(first_ms=200, max_ms=5_000)


class Worker:
    """Runs one projection as a member of its group.

    Args:
        claims: takes partitions over.
    """

    def __init__(
        self,
        projection: Projection,
        subscription: Subscription,
        consumer: Consumer,
        topics: Topics,
        claims: Claims,
    ) -> None:
        self._projection = projection
        self._store = projection.store
        self._subscription = subscription
        self._consumer = consumer
        self._topics = topics
        self._claiming = claims
        self._applier = Applier(projection, subscription, self._pause)
        self._claims: dict[Place, Claim] = {}
        self._not_before: dict[Place, float] = {}
        self._batch = asyncio.Lock()
        self._give_up = asyncio.Event()
        self._ready = asyncio.Event()
        self._assignment = 0
        self._stopping = False
        self._subscribed: frozenset[str] = frozenset()
        self._next_look_s = self._next_warning_s = 0.0

    def stop(self) -> None:
        """Ask for a clean end: the batch in flight is finished, and no other begun."""
        self._stopping = True
        self._give_up.set()

    async def run(self) -> None:
        """Work until stopped.

        Raises:
            BridgeError: why it cannot go on.
        """
        try:
            await self._store.open()
            await self._consumer.start(self)
            self._ready.set()
            failures = 0
            while not self._stopping:
                try:
                    await self._round()
                    failures = 0
                except UnavailableError as e:
                    failures += 1
                    _log.warning("unavailable", projection=self._projection.name, error=e.what)
                    # What was fetched may have been passed over: everything is sought again.
                    self._claims.clear()
                    await self._pause(_RETRY_PAUSE.delay_ms(failures))
        finally:
            await self._consumer.stop()
            await self._store.close()

    async def revoked(self) -> None:
        """Give up all partitions; waits for the batch in flight, but not for ever."""
        self._give_up.set()
        try:
            async with asyncio.timeout(REVOCATION_S), self._batch:
                pass
        except TimeoutError:
            _log.warning("revoked_during_batch", projection=self._projection.name)
        self.assigned()
        if not self._stopping:
            self._give_up.clear()

    def assigned(self) -> None:
        """Claim anew whatever is assigned now: the consumer has forgotten where it was."""
        self._assignment += 1
        self._claims.clear()

    async def caught_up(self) -> None:
        """Return once everything is applied that was committed when this was called."""
        await self._ready.wait()
        found = await asyncio.to_thread(self._topics.identities, self._subscription.topics)
        await asyncio.to_thread(self._topics.await_visible, found)
        ends = await self._claiming.ends(found.values())
        while await self._claiming.is_behind(found, ends):
            await asyncio.sleep(_CAUGHT_UP_PAUSE_S)

    async def _pause(self, ms: float) -> bool:
        """Wait; True, and at once, when partitions are to be given up."""
        if ms > 0 and not self._give_up.is_set():
            try:
                async with asyncio.timeout(ms / 1000):
                    await self._give_up.wait()
            except TimeoutError:
                return False
        return self._give_up.is_set()

    async def _round(self) -> None:
        await self._look_for_topics()
        if not self._subscribed:
            await self._pause(_TOPICS_EVERY_S * 1000)
            return
        await self._claim_assigned()
        fetched = await self._consumer.fetch(list(self._claims), self._projection.batch_max_records)
        # Between the fetch and this line nothing else ran: these claims are those of the records.
        owned = {place: self._claims[place] for place in fetched if place in self._claims}
        if owned:
            await self._take(owned, fetched)
        else:
            await self._pass_markers()

    async def _look_for_topics(self) -> None:
        """Subscribe to the topics that exist: one that does not would keep all others waiting."""
        now = time.monotonic()
        if now < self._next_look_s:
            return
        self._next_look_s = now + _TOPICS_EVERY_S
        wanted = self._subscription.topics
        found = frozenset(await asyncio.to_thread(self._topics.identities, wanted))
        if found < wanted and now >= self._next_warning_s:
            self._next_warning_s = now + _WARN_EVERY_S
            missing = sorted(wanted - found)
            _log.warning("topics_missing", projection=self._projection.name, topics=missing)
        if not found <= self._subscribed:
            # A topic that is gone stays subscribed: its claims tell what it means.
            self._subscribed |= found
            self._consumer.subscribe(self._subscribed)

    async def _claim_assigned(self) -> None:
        now = time.monotonic()
        wanted = [
            place
            for place in self._consumer.assigned()
            if place not in self._claims and self._not_before.get(place, 0.0) <= now
        ]
        if not wanted or self._give_up.is_set():
            return
        async with self._batch:
            assignment = self._assignment
            for place, claim in (await self._claiming.take(wanted)).items():
                if assignment != self._assignment:
                    return  # the claims are void, or somebody else's to make
                if not self._give_up.is_set() and self._consumer.seek(place, claim.next_offset):
                    self._claims[place] = claim
                    _log.info("claimed", offset=claim.next_offset, **_where(claim))

    async def _take(
        self, owned: Mapping[Place, Claim], fetched: Mapping[Place, Sequence[InboundRecord]]
    ) -> None:
        moved = await self._claiming.check(owned)
        for place, claim in owned.items():
            async with self._batch:
                if self._claims.get(place) is not claim:
                    continue  # taken away meanwhile, or claimed anew and sought: not ours to apply
                records = fetched[place]
                await self._move(place, moved, partial(self._applier.apply, claim, records))

    async def _move(
        self,
        place: Place,
        moved: set[Place],
        move: Callable[[], Awaitable[Claim | None]],
    ) -> None:
        """Keep what becomes of a claim, unless the group has moved partitions meanwhile.

        Args:
            moved: partitions whose leader has changed; they are claimed anew at once.
        """
        del self._claims[place]
        assignment = self._assignment
        if place in moved:
            return
        claim = await move()
        if assignment != self._assignment:
            return
        if claim is None:
            self._not_before[place] = time.monotonic() + _RECLAIM_S
        else:
            self._claims[place] = claim

    async def _pass_markers(self) -> None:
        """Store that markers and aborted records were passed: retention may delete them now."""
        ahead: dict[Place, tuple[Claim, int]] = {}
        for place, claim in list(self._claims.items()):
            position = await self._consumer.position(place)
            if position is not None and position > claim.next_offset:
                ahead[place] = (claim, position)
        if not ahead:
            return
        moved = await self._claiming.check({place: claim for place, (claim, _) in ahead.items()})
        for place, (claim, position) in ahead.items():
            async with self._batch:
                if self._claims.get(place) is claim:
                    await self._move(place, moved, partial(self._applier.skip, claim, position))


def _where(claim: Claim) -> dict[str, object]:
    return claim.key._asdict() | {"epoch": claim.epoch}
