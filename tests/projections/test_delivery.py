"""What a projection promises while nothing is wrong, and through restarts."""

import asyncio
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from bridge.projections import Event, MemoryStore, SqlStore
from tests.projections.shop import Applied, ReadModel, Shop, catch_up, numbers


def test_events_are_applied_once_and_in_order_across_restarts(shop: Shop, model: ReadModel) -> None:
    shop.publish([*numbers("anna", 1, 30), *numbers("bert", 1, 30)])
    catch_up(model.projection(), shop.config)
    catch_up(model.projection(), shop.config)
    shop.publish(numbers("anna", 31, 40))
    catch_up(model.projection(model.apply_plain), shop.config)
    applied = model.applied()
    assert [e for e in applied if e.entity == "anna"] == numbers("anna", 1, 40)
    assert [e for e in applied if e.entity == "bert"] == numbers("bert", 1, 30)
    assert len(applied) == 70


def test_an_event_with_several_subscribed_tags_comes_once(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 3), tags=("audit", "bills", "orders"))
    shop.publish(numbers("anna", 4, 5), tags=("orders",))
    shop.publish(numbers("anna", 6, 6), tags=("audit",))
    catch_up(model.projection(tags=["orders", "bills"]), shop.config)
    assert sorted(model.applied()) == numbers("anna", 1, 5)


def test_repeated_records_are_dropped_also_after_a_restart(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 5))
    shop.publish(numbers("anna", 4, 6))
    catch_up(model.projection(), shop.config)
    shop.publish([*numbers("anna", 2, 7), *numbers("bert", 5, 5)])
    catch_up(model.projection(), shop.config)
    assert model.applied() == [*numbers("anna", 1, 7), *numbers("bert", 5, 5)]


def test_a_late_event_is_applied_once(shop: Shop, model: ReadModel) -> None:
    shop.publish([Applied("anna", 1), Applied("anna", 3)])
    shop.publish([Applied("anna", 2)], late=True)
    catch_up(model.projection(), shop.config)
    shop.publish([Applied("anna", 2)], late=True)
    shop.publish([Applied("anna", 2)])
    shop.publish([Applied("anna", 4)])
    catch_up(model.projection(), shop.config)
    assert [event.number for event in model.applied()] == [1, 3, 2, 4]


def test_at_least_once_gives_the_event_alone(shop: Shop, model: ReadModel) -> None:
    seen: list[Event] = []

    async def later(event: Event) -> None:
        seen.append(event)

    shop.publish(numbers("anna", 1, 3))
    catch_up(model.projection(seen.append, delivery="at_least_once"), shop.config)
    shop.publish(numbers("anna", 4, 5))
    catch_up(model.projection(later, delivery="at_least_once"), shop.config)
    assert [event.sequence_nr for event in seen] == [1, 2, 3, 4, 5]
    first = seen[0]
    assert first.json() == {"entity": "anna", "number": 1}
    assert (first.type, first.tags, first.journal, first.late) == (
        "happened", ("orders",), "orders", False,
    )  # fmt: skip
    assert (first.topic, first.partition, first.offset) == (shop.topic("orders"), 0, 0)


def test_a_test_of_a_handler_needs_no_database(shop: Shop) -> None:
    def count(event: Event, rows: dict[str, int]) -> None:
        rows[event.persistence_id] = rows.get(event.persistence_id, 0) + 1

    store = MemoryStore()
    shop.publish([*numbers("anna", 1, 3), *numbers("bert", 1, 2)])
    projection = ReadModel.unstored(count, store)
    catch_up(projection, shop.config)
    catch_up(projection, shop.config)
    assert store.rows == {"anna": 3, "bert": 2}


def test_a_read_model_in_sqlite_with_the_callers_engine(shop: Shop, tmp_path: Path) -> None:
    async def count(_: Event, tx: AsyncConnection) -> None:
        await tx.execute(text("CREATE TABLE IF NOT EXISTS counted (number integer)"))
        await tx.execute(text("INSERT INTO counted VALUES (1)"))

    async def live() -> Any:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'model.db'}")
        for _ in range(2):
            projection = ReadModel.unstored(count, SqlStore(engine))
            async with asyncio.timeout(60), projection.running(shop.config) as running:
                await running.until_caught_up()
        async with engine.connect() as connection:
            found = (await connection.execute(text("SELECT count(*) FROM counted"))).scalar_one()
        await engine.dispose()
        return found

    shop.publish(numbers("anna", 1, 20))
    assert asyncio.run(live()) == 20
