"""Handlers, transactions and records that fail: nothing is skipped, nothing is applied twice."""

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from bridge.errors import OperatorError
from bridge.projections import Event
from tests.projections.shop import ReadModel, Shop, catch_up, numbers

SECRET = "the payload of nobody's business"


class Stumbling:
    """A handler that fails at number 6 of its entity, so many times."""

    def __init__(self, model: ReadModel, failures: int) -> None:
        self._model = model
        self._failures = failures
        self.tries = 0

    async def __call__(self, event: Event, tx: AsyncConnection) -> None:
        await self._model.apply(event, tx)
        if event.sequence_nr == 6:
            self.tries += 1
            if self.tries <= self._failures:
                raise ValueError(SECRET)

    async def alone(self, event: Event) -> None:
        if event.sequence_nr == 6:
            self.tries += 1
            raise ValueError(SECRET)


def test_a_failure_that_passes_leaves_no_trace(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    handler = Stumbling(model, failures=2)
    catch_up(model.projection(handler), shop.config)
    assert model.applied() == numbers("anna", 1, 10)
    assert handler.tries == 3


def test_a_failure_that_stays_stops_before_its_event(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    handler = Stumbling(model, failures=100)
    with pytest.raises(OperatorError) as caught:
        catch_up(model.projection(handler, attempts=3), shop.config)
    assert handler.tries == 3
    assert model.applied() == numbers("anna", 1, 5)
    topic = shop.topic("orders")
    assert model.offsets(topic) == {0: 5}
    assert f"event 'anna'/6 (topic {topic}, partition 0, offset 5)" in str(caught.value)
    assert "ValueError at test_failures.py" in str(caught.value)
    assert SECRET not in str(caught.value)
    catch_up(model.projection(), shop.config)
    assert model.applied() == numbers("anna", 1, 10)


def test_without_a_transaction_what_succeeded_is_not_repeated(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    stumbling, seen = Stumbling(model, 100), list[int]()

    async def handle(event: Event) -> None:
        await stumbling.alone(event)
        seen.append(event.sequence_nr)

    with pytest.raises(OperatorError):
        catch_up(model.projection(handle, delivery="at_least_once", attempts=2), shop.config)
    assert seen == [1, 2, 3, 4, 5]
    assert model.offsets(shop.topic("orders")) == {0: 5}
    assert stumbling.tries == 2


def test_an_event_that_only_the_commit_refuses_is_named(shop: Shop, model: ReadModel) -> None:
    with psycopg.connect(model.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE allowed (number bigint PRIMARY KEY)")
        connection.execute("INSERT INTO allowed SELECT n FROM generate_series(1, 10) n WHERE n<>6")
        connection.execute(
            "ALTER TABLE applied ADD FOREIGN KEY (number) REFERENCES allowed "
            "DEFERRABLE INITIALLY DEFERRED"
        )
    shop.publish(numbers("anna", 1, 10))
    with pytest.raises(OperatorError, match="event 'anna'/6 "):
        catch_up(model.projection(attempts=2), shop.config)
    assert model.applied() == numbers("anna", 1, 5)
    assert model.offsets(shop.topic("orders")) == {0: 5}
    with psycopg.connect(model.url, autocommit=True) as connection:
        connection.execute("INSERT INTO allowed VALUES (6)")
    catch_up(model.projection(), shop.config)
    assert model.applied() == numbers("anna", 1, 10)


def test_a_record_that_is_no_event_stops_it(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 3))
    shop.publish_raw("orders", b"anna", SECRET.encode())
    with pytest.raises(OperatorError, match=r"offset 4\) could not be applied: it has no header"):
        catch_up(model.projection(attempts=1), shop.config)
    assert model.applied() == numbers("anna", 1, 3)


@pytest.mark.parametrize("column", ["text", "jsonb"])
def test_text_that_the_database_cannot_hold_is_a_failure_of_its_event(
    shop: Shop, model: ReadModel, column: str
) -> None:
    with psycopg.connect(model.url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE kept (payload {column})")
    shop.publish(numbers("anna", 1, 3))
    shop.publish(numbers("nul\0", 4, 4))

    async def keep(event: Event, tx: AsyncConnection) -> None:
        payload = event.payload.decode() if column == "jsonb" else event.json()["entity"]
        await tx.execute(text(f"INSERT INTO kept VALUES (CAST(:p AS {column}))"), {"p": payload})

    with pytest.raises(OperatorError, match="nul") as caught:
        catch_up(model.projection(keep, attempts=2), shop.config)
    assert "/4 " in str(caught.value)
    assert model.offsets(shop.topic("orders"))[0] in (3, 4)
    with psycopg.connect(model.url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchall() == [(3,)]


def test_a_lost_connection_repeats_the_batch(shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    lost = 0

    async def handle(event: Event, tx: AsyncConnection) -> None:
        nonlocal lost
        await model.apply(event, tx)
        if event.sequence_nr == 4 and lost == 0:
            lost += 1
            await tx.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    catch_up(model.projection(handle), shop.config)
    assert lost == 1
    assert model.applied() == numbers("anna", 1, 10)
