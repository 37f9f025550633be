"""The same through SQLAlchemy's asyncio connections and sessions."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

from bridge.errors import ConfigError
from bridge.writer import Event, InvalidEventError, SequenceConflictError, append_async
from tests.writer.journal import WriterJournal

PLACED = Event(type="OrderPlaced", payload={"total": 5}, tags=["orders"])
ADD_ORDER = text("INSERT INTO orders (id) VALUES (:id)")


def _run(journal: WriterJournal, work: Callable[[AsyncEngine], Awaitable[None]]) -> None:
    async def main() -> None:
        engine = journal.async_engine()
        try:
            await work(engine)
        finally:
            await engine.dispose()

    asyncio.run(main())


def _target(engine: AsyncEngine, kind: str) -> AsyncConnection | AsyncSession:
    return engine.connect() if kind == "connection" else AsyncSession(engine)


@pytest.mark.parametrize("kind", ["connection", "session"])
@pytest.mark.parametrize("commit", [True, False])
def test_events_share_the_fate_of_the_callers_transaction(
    journal: WriterJournal, kind: str, commit: bool
) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with _target(engine, kind) as target:
            assert await append_async(target, "x", [PLACED], expected_sequence_nr=0) == 1
            await target.execute(ADD_ORDER, {"id": "x"})
            if commit:
                await target.commit()
            else:
                await target.rollback()

    _run(journal, work)
    assert journal.numbers("x") == ([1] if commit else [])
    assert journal.orders() == (["x"] if commit else [])


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_a_conflict_leaves_the_transaction_usable(journal: WriterJournal, kind: str) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with _target(engine, kind) as target:
            await append_async(target, "x", [PLACED], expected_sequence_nr=None)
            with pytest.raises(SequenceConflictError) as caught:
                await append_async(target, "x", [PLACED], expected_sequence_nr=0)
            assert caught.value.found == 1
            await append_async(target, "x", [PLACED], expected_sequence_nr=1)
            await target.commit()

    _run(journal, work)
    assert journal.numbers("x") == [1, 2]


def test_two_tasks_with_the_same_expectation_have_one_winner_per_number(
    journal: WriterJournal,
) -> None:
    rounds = 10

    async def write(engine: AsyncEngine, seen: int) -> int:
        async with engine.begin() as connection:
            try:
                await append_async(connection, "x", [PLACED], expected_sequence_nr=seen)
            except SequenceConflictError:
                return 0
            return 1

    async def work(engine: AsyncEngine) -> None:
        for seen in range(rounds):
            assert sum(await asyncio.gather(write(engine, seen), write(engine, seen))) == 1

    _run(journal, work)
    assert journal.numbers("x") == list(range(1, rounds + 1))


def test_autocommit_wrong_targets_and_invalid_events_are_refused(journal: WriterJournal) -> None:
    async def work(engine: AsyncEngine) -> None:
        with pytest.raises(ConfigError, match="AsyncEngine"):
            await append_async(engine, "x", [PLACED], expected_sequence_nr=0)  # type: ignore[arg-type]
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            with pytest.raises(ConfigError, match="AUTOCOMMIT"):
                await append_async(connection, "x", [PLACED], expected_sequence_nr=0)
            with pytest.raises(InvalidEventError, match="persistence id"):
                await append_async(connection, "", [PLACED], expected_sequence_nr=0)

    _run(journal, work)
    assert journal.rows() == []
