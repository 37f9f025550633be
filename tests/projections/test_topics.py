"""Topics that are missing, made anew or cut short; records that retention has taken."""

import asyncio

import psycopg
import pytest

from bridge.errors import OperatorError
from bridge.kafka.from_config import kafka_settings
from bridge.kafka.partition_logs import PartitionLogs
from tests.projections.shop import ReadModel, Shop, catch_up, numbers


def test_an_offset_below_the_log_stops_with_the_lost_range(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    catch_up(model.projection(), shop.config)
    stored = model.offsets(shop.topic("orders"))
    shop.publish(numbers("anna", 11, 100))
    shop.delete_records("orders", 61)
    with pytest.raises(
        OperatorError, match=f"offsets {stored[0]} to 60 are gone, {61 - stored[0]} "
    ):
        catch_up(model.projection(start="earliest-available"), shop.config)
    assert model.offsets(shop.topic("orders")) == stored
    assert model.applied() == numbers("anna", 1, 10)


def test_a_first_start_behind_lost_records_has_to_be_asked_for(
    shop: Shop, model: ReadModel
) -> None:
    shop.publish(numbers("anna", 1, 10))
    shop.delete_records("orders", 5)
    with pytest.raises(OperatorError, match="offsets 0 to 4 are gone"):
        catch_up(model.projection(), shop.config)
    assert model.offsets(shop.topic("orders")) == {}
    catch_up(model.projection(start="earliest-available"), shop.config)
    assert model.applied() == numbers("anna", 6, 10)


def test_retention_may_take_everything_that_was_applied(shop: Shop, model: ReadModel) -> None:
    """Its last record is a transaction's marker, which has no effect of its own."""
    shop.publish(numbers("anna", 1, 10))
    catch_up(model.projection(), shop.config)
    assert model.offsets(shop.topic("orders")) == {0: 11}
    shop.delete_records("orders", 11)
    shop.publish(numbers("anna", 11, 12))
    catch_up(model.projection(), shop.config)
    assert model.applied() == numbers("anna", 1, 12)


def test_a_missing_topic_keeps_nobody_waiting(shop: Shop, model: ReadModel) -> None:
    async def live() -> None:
        projection = model.projection(tags=["absent", "orders"])
        async with asyncio.timeout(60), projection.running(shop.config):
            await model.holds(10)
            await asyncio.to_thread(shop.publish, numbers("bert", 1, 3), ("absent",))
            await model.holds(13)

    shop.publish(numbers("anna", 1, 10))
    asyncio.run(live())
    assert model.applied() == [*numbers("anna", 1, 10), *numbers("bert", 1, 3)]


def test_a_topic_made_anew_is_noticed_before_anything_of_it_is_applied(
    shop: Shop, model: ReadModel
) -> None:
    async def live() -> None:
        async with asyncio.timeout(60), model.projection().running(shop.config) as running:
            await model.holds(10)
            await asyncio.to_thread(shop.delete_topic, "orders")
            await asyncio.to_thread(shop.publish, numbers("bert", 1, 30))
            await running.ended()

    shop.publish(numbers("anna", 1, 10))
    with pytest.raises(OperatorError, match="was deleted and made anew"):
        asyncio.run(live())
    with pytest.raises(OperatorError, match="was deleted and made anew"):
        catch_up(model.projection(), shop.config)
    assert model.applied() == numbers("anna", 1, 10)


def test_an_offset_behind_the_end_is_no_place_to_wait_at(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    catch_up(model.projection(), shop.config)
    with psycopg.connect(model.url, autocommit=True) as connection:
        connection.execute("UPDATE bridge_projection_offsets SET next_offset = 500")
    logs = PartitionLogs(kafka_settings(shop.config))
    place = (shop.topic("orders"), 0)
    assert logs.was_truncated(place, 500, leader_epoch=0)
    assert not logs.was_truncated(place, 11, leader_epoch=0)
    assert logs.ranges([place])[place].leader_epoch == 0
    with pytest.raises(OperatorError, match="its log was truncated"):
        catch_up(model.projection(), shop.config)
    assert model.offsets(shop.topic("orders")) == {0: 500}


def test_the_leader_epoch_is_stored(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    catch_up(model.projection(), shop.config)
    with psycopg.connect(model.url) as connection:
        query = "SELECT leader_epoch FROM bridge_projection_offsets"
        assert connection.execute(query).fetchall() == [(0,)]


@pytest.mark.slow
def test_partitions_that_are_added_are_read_from_their_beginning(
    shop: Shop, model: ReadModel
) -> None:
    async def live() -> None:
        async with asyncio.timeout(60), model.projection().running(shop.config):
            await model.holds(10)
            await asyncio.to_thread(shop.add_partitions, "orders", 4)
            # By the number of partitions that it now has, most entities go elsewhere.
            entities = [e for n in range(20) for e in numbers(f"new-{n}", 1, 2)]
            await asyncio.to_thread(shop.publish, entities)
            await model.holds(50)

    shop.publish(numbers("anna", 1, 10))
    asyncio.run(live())
    assert len(model.offsets(shop.topic("orders"))) == 4
