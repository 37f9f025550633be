"""What every store of offsets beside a read model must do, the fence above all."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from bridge.core.projected import MEMORY_OFFSETS, Claim, EntityKey, PartitionKey, Seen
from bridge.readmodels.base import ClaimLostError, OffsetStore

__all__ = ["OffsetStoreContract", "ReadModelSubject"]

Store = OffsetStore[Any]
KEY = PartitionKey("totals", "shop.orders", 0)
ANNA = EntityKey("/shop/orders", b"anna")


class ReadModelSubject(ABC):
    """A database with a read model of numbers by name."""

    @abstractmethod
    def store(self) -> Store:
        """The store of another worker on the same database; not open."""

    @abstractmethod
    async def put(self, tx: Any, name: str, number: int) -> None:
        """Change the read model in a handler's transaction."""

    @abstractmethod
    def put_plain(self, tx: Any, name: str, number: int) -> None:
        """The same with what a plain handler gets."""

    @abstractmethod
    async def rows(self) -> dict[str, int]:
        """The read model as committed."""


class _Worker:
    """A worker of the subject: an open store."""

    def __init__(self, subject: ReadModelSubject) -> None:
        self._subject = subject
        self.store = subject.store()

    async def __aenter__(self) -> "_Worker":
        await self.store.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def claim(self, key: PartitionKey = KEY, topic_id: str = "id-1") -> Claim:
        return await self.store.claim(key, topic_id, 0)

    async def move(self, claim: Claim, to: int, *seen: Seen) -> Claim:
        """Move the offset; the effect is a row that says so."""
        async with self.store.advance(claim, to, seen) as tx:
            await self._subject.put(tx, "at", to)
        return replace(claim, next_offset=to)

    async def offset(self, key: PartitionKey = KEY) -> int:
        stored = await self.store.stored(key.projection)
        return stored[key.topic, key.partition].next_offset


def _seen(number: int, *, late: bool = False, offset: int | None = None) -> Seen:
    return Seen(ANNA, number, late, number if offset is None else offset)


class OffsetStoreContract:
    """Subclasses give a fixture `subject`."""

    @staticmethod
    def _play(
        subject: ReadModelSubject, act: Callable[[_Worker, _Worker], Awaitable[None]]
    ) -> None:
        async def play() -> None:
            async with _Worker(subject) as one, _Worker(subject) as other:
                await act(one, other)

        asyncio.run(play())

    def test_a_first_claim_begins_where_it_is_told(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, _: _Worker) -> None:
            assert await one.store.stored("totals") == {}
            claim = await one.store.claim(KEY, "id-1", 600)
            assert claim == Claim(KEY, 1, 600, "id-1", None)
            assert await one.offset() == 600

        self._play(subject, act)

    def test_effect_and_offset_commit_together(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, other: _Worker) -> None:
            claim = replace(await one.claim(), leader_epoch=7)
            await one.move(claim, 5)
            assert await subject.rows() == {"at": 5}
            after = await other.claim()
            assert after == Claim(KEY, claim.epoch + 1, 5, "id-1", 7)

        self._play(subject, act)

    def test_an_effect_that_fails_leaves_nothing(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, _: _Worker) -> None:
            claim = await one.claim()

            async def fail() -> None:
                async with one.store.advance(claim, 5, [_seen(1)]) as tx:
                    await subject.put(tx, "at", 5)
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await fail()
            assert await subject.rows() == {}
            assert await one.offset() == 0
            assert (await one.store.known(KEY, [ANNA])).is_new(_seen(1))
            await one.move(claim, 5)

        self._play(subject, act)

    def test_a_former_owner_changes_nothing(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, other: _Worker) -> None:
            former = await one.move(await one.claim(), 10)
            latter = await other.claim()
            with pytest.raises(ClaimLostError):
                await one.move(former, 20)
            await other.move(latter, 40)
            with pytest.raises(ClaimLostError):
                await one.move(former, 20)
            assert await other.offset() == 40
            assert await subject.rows() == {"at": 40}

        self._play(subject, act)

    def test_an_offset_moves_only_from_where_it_stands(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, _: _Worker) -> None:
            claim = await one.claim()
            await one.move(claim, 10)
            with pytest.raises(ClaimLostError):  # the same batch again: its commit was in doubt
                await one.move(claim, 10)
            with pytest.raises(ClaimLostError):
                await one.move(claim, 5)
            assert await one.offset() == 10

        self._play(subject, act)

    def test_the_topic_is_part_of_the_claim(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, _: _Worker) -> None:
            await one.move(await one.claim(topic_id="id-1"), 10)
            claim = await one.claim(topic_id="id-2")
            assert claim.topic_id == "id-1"
            with pytest.raises(ClaimLostError):
                await one.move(replace(claim, topic_id="id-2"), 20)
            assert await one.offset() == 10

        self._play(subject, act)

    def test_a_takeover_beside_an_open_transaction(self, subject: ReadModelSubject) -> None:
        """Either it waits and finds the offset moved, or the open transaction cannot commit."""

        async def act(one: _Worker, other: _Worker) -> None:
            held, release = asyncio.Event(), asyncio.Event()

            async def hold(claim: Claim) -> bool:
                try:
                    async with one.store.advance(claim, 10, ()) as tx:
                        await subject.put(tx, "held", 1)
                        held.set()
                        await release.wait()
                except ClaimLostError:
                    return False
                return True

            holding = asyncio.create_task(hold(await one.claim()))
            await held.wait()
            claiming = asyncio.create_task(other.claim())
            await asyncio.wait({claiming}, timeout=0.2)
            release.set()
            committed, claim = await holding, await claiming
            assert claim.next_offset == (10 if committed else 0)
            assert ("held" in await subject.rows()) == committed
            await other.move(claim, 40)
            assert await other.offset() == 40

        self._play(subject, act)

    def test_partitions_and_projections_do_not_meet(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, other: _Worker) -> None:
            keys = [KEY, KEY._replace(partition=1), KEY._replace(projection="others")]
            claims = [await one.claim(key) for key in keys]
            for number, claim in enumerate(claims, start=1):
                await other.move(claim, number)
            assert [await one.offset(key) for key in keys] == [1, 2, 3]
            assert set(await one.store.stored("totals")) == {("shop.orders", 0), ("shop.orders", 1)}

        self._play(subject, act)

    def test_what_was_applied_is_known_to_the_next_worker(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, other: _Worker) -> None:
            claim = await one.move(await one.claim(), 3, _seen(1), _seen(2))
            await one.move(claim, 4, _seen(7), _seen(3, late=True, offset=3))
            known = await other.store.known(KEY, [ANNA])
            assert not known.is_new(_seen(7))
            assert not known.is_new(_seen(3, late=True))
            assert known.is_new(_seen(4, late=True))
            assert known.is_new(_seen(8))
            strangers = [ANNA._replace(entity=b"bert"), ANNA._replace(source="/elsewhere")]
            known = await other.store.known(KEY, strangers)
            assert all(known.is_new(_seen(1)._replace(key=key)) for key in strangers)
            elsewhere = await other.store.known(KEY._replace(topic="shop.bills"), [ANNA])
            assert elsewhere.is_new(_seen(1))

        self._play(subject, act)

    def test_any_id_of_an_entity_can_be_kept(self, subject: ReadModelSubject) -> None:
        keys = [ANNA._replace(entity=e) for e in (b"a\0b", b"a", "ключ".encode(), b"A" * 300)]

        async def act(one: _Worker, _: _Worker) -> None:
            await one.move(await one.claim(), 1, *[_seen(1)._replace(key=key) for key in keys])
            known = await one.store.known(KEY, keys)
            assert not any(known.is_new(_seen(1)._replace(key=key)) for key in keys)

        self._play(subject, act)

    def test_entities_not_seen_for_long_are_forgotten(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, _: _Worker) -> None:
            bert = ANNA._replace(entity=b"bert")
            claim = await one.move(await one.claim(), 10, _seen(5, offset=9))
            await one.move(
                claim, MEMORY_OFFSETS + 20_000, Seen(bert, 5, False, MEMORY_OFFSETS + 19_999)
            )
            known = await one.store.known(KEY, [ANNA, bert])
            assert known.is_new(_seen(1))
            assert not known.is_new(_seen(1)._replace(key=bert))

        self._play(subject, act)

    def test_plain_code_shares_the_transaction(self, subject: ReadModelSubject) -> None:
        async def act(one: _Worker, _: _Worker) -> None:
            claim = await one.claim()

            async def put(*, fail: bool) -> None:
                async with one.store.advance(claim, 1, ()) as tx:
                    await one.store.call_plain(tx, lambda plain: subject.put_plain(plain, "at", 1))
                    if fail:
                        raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await put(fail=True)
            assert await subject.rows() == {}
            await put(fail=False)
            assert await subject.rows() == {"at": 1}

        self._play(subject, act)

    def test_many_workers_may_open_it_at_once(self, subject: ReadModelSubject) -> None:
        async def open_all() -> None:
            stores = [subject.store() for _ in range(4)]
            await asyncio.gather(*[store.open() for store in stores])
            claims = await asyncio.gather(*[s.claim(KEY, "id-1", 0) for s in stores])
            await asyncio.gather(*[store.close() for store in stores])
            assert sorted(claim.epoch for claim in claims) == [1, 2, 3, 4]

        asyncio.run(open_all())
