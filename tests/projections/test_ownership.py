"""Partitions that move between workers: whoever is late changes nothing."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from bridge.kafka.consuming import GroupConsumer
from bridge.kafka.from_config import kafka_settings, kafka_topics
from bridge.kafka.partition_logs import PartitionLogs
from bridge.projections import Event, Projection
from bridge.projections.assemble import subscription_of
from bridge.projections.claiming import Claims
from bridge.projections.running import run_beside
from bridge.projections.worker import Worker
from tests.projections.shop import ReadModel, Shop, numbers
from tests.services import KafkaBroker


def test_who_is_held_in_its_handler_is_fenced_by_who_takes_over(
    shop: Shop, model: ReadModel
) -> None:
    """Both believe that the partition is theirs: the group knows nothing of the other."""
    topic = shop.topic("orders")

    async def live() -> None:
        held, release, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def hold(event: Event, tx: AsyncConnection) -> None:
            try:
                await model.apply(event, tx)
                if event.sequence_nr == 11 and not held.is_set():
                    held.set()
                    await release.wait()
                    await model.apply(event, tx)  # its transaction is over, and not by its will
            except DBAPIError:
                ended.set()
                raise

        async with AsyncExitStack() as both, asyncio.timeout(60):
            first = model.projection(hold, max_idle_s=1.0)
            await both.enter_async_context(first.running(shop.config))
            await model.holds(10)
            await asyncio.to_thread(shop.publish, numbers("anna", 11, 40))
            await held.wait()
            second = _in_another_group(model.projection(), shop)
            await both.enter_async_context(run_beside(second))
            await model.holds(40)
            before = await asyncio.to_thread(model.offsets, topic)
            release.set()
            await ended.wait()
            assert (await asyncio.to_thread(model.offsets, topic))[0] >= before[0]

    shop.publish(numbers("anna", 1, 10))
    asyncio.run(live())
    assert model.applied() == numbers("anna", 1, 40)


def _in_another_group(projection: Projection, shop: Shop) -> Worker:
    settings, topics = kafka_settings(shop.config), kafka_topics(shop.config)
    return Worker(
        projection,
        subscription_of(projection, shop.config),
        GroupConsumer(settings, f"{shop.config.app}--elsewhere"),
        topics,
        Claims(projection, topics, PartitionLogs(settings)),
    )


def test_partitions_that_come_and_go_lose_and_repeat_nothing(
    kafka: KafkaBroker, app: str, tmp_path: Path, model: ReadModel
) -> None:
    shop = Shop(kafka.bootstrap_servers, app, tmp_path, partitions=4)
    entities = [f"entity-{n}" for n in range(8)]
    shop.publish([e for entity in entities for e in numbers(entity, 1, 15)])

    async def slowly(event: Event, tx: AsyncConnection) -> None:
        await model.apply(event, tx)
        await asyncio.sleep(0.02)

    async def live() -> None:
        async with asyncio.timeout(120), model.projection(slowly).running(shop.config) as running:
            for _ in range(2):
                async with model.projection(slowly).running(shop.config):
                    await asyncio.sleep(1.0)  # the second member's life; whatever it gets done
            await running.until_caught_up()

    asyncio.run(live())
    applied = model.applied()
    for entity in entities:
        assert [e for e in applied if e.entity == entity] == numbers(entity, 1, 15)
    assert len(applied) == 120
