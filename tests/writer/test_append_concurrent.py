"""Several writers of one entity: each number is won exactly once, and losers can go on."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import Connection, text

from bridge.writer import Event, SequenceConflictError, append
from tests.waiting import wait_until
from tests.writer.journal import WriterJournal

SECRET = "s3cret-text"
ADD_ORDER = text("INSERT INTO orders (id) VALUES (:id)")


def _events(count: int = 1) -> list[Event]:
    return [Event(type="Changed", payload={"text": SECRET})] * count


def test_two_writers_with_the_same_expectation_have_one_winner_per_number(
    journal: WriterJournal,
) -> None:
    rounds = 20
    barrier = Barrier(2)

    found: list[tuple[int, int]] = []

    def write(writer: str) -> int:
        wins = 0
        for seen in range(rounds):
            barrier.wait(timeout=30)
            with journal.engine.begin() as connection:
                try:
                    append(connection, "x", _events(), expected_sequence_nr=seen)
                    wins += 1
                except SequenceConflictError as conflict:
                    found.append((seen, conflict.found))
                    connection.execute(ADD_ORDER, {"id": f"{writer}-{seen}"})
        return wins

    with ThreadPoolExecutor(2) as pool:
        wins = list(pool.map(write, ["a", "b"]))
    assert sum(wins) == rounds
    assert found == [(seen, seen + 1) for seen in range(rounds)]
    assert journal.numbers("x") == list(range(1, rounds + 1))
    assert len(journal.orders()) == rounds


def _blocked(observer: Connection, pid: int) -> bool:
    waiting = observer.scalar(text("SELECT cardinality(pg_blocking_pids(:pid))"), {"pid": pid})
    observer.rollback()
    return bool(waiting)


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
@pytest.mark.parametrize("expected", [0, None])
@pytest.mark.parametrize("rival_commits", [True, False])
def test_the_later_writer_waits_and_learns_the_outcome(
    pg_journal: WriterJournal, isolation: str, expected: int | None, rival_commits: bool
) -> None:
    engine = pg_journal.engine
    options = {"isolation_level": isolation}
    with (
        engine.connect() as rival,
        engine.connect().execution_options(**options) as later,
        engine.connect() as observer,
        ThreadPoolExecutor(1) as pool,
    ):
        append(rival, "x", _events(), expected_sequence_nr=0)
        later.execute(ADD_ORDER, {"id": "kept"})
        pid = later.scalar(text("SELECT pg_backend_pid()"))
        result: Future[int] = pool.submit(
            append, later, "x", _events(2), expected_sequence_nr=expected
        )
        wait_until(lambda: _blocked(observer, pid), what="the later writer waits")
        if rival_commits:
            rival.commit()
            with pytest.raises(SequenceConflictError) as caught:
                result.result(timeout=30)
            seen = 1 if isolation == "READ COMMITTED" else 0
            assert (caught.value.expected, caught.value.found) == (0, seen)
            assert SECRET not in f"{caught.value}{caught.value.__cause__}"
        else:
            rival.rollback()
            assert result.result(timeout=30) == 2
        append(later, "y", _events(), expected_sequence_nr=0)
        later.commit()
    assert pg_journal.numbers("x") == ([1] if rival_commits else [1, 2])
    assert pg_journal.numbers("y") == [1]
    assert pg_journal.orders() == ["kept"]
