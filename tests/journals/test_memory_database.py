"""The database in memory does what PostgreSQL does, crashes included."""

import pytest

from bridge.core.positions import WindowPosition
from bridge.core.snapshot import PgSnapshot
from bridge.errors import OperatorError, UnavailableError
from bridge.journals.base import PageLimits
from bridge.journals.memory import MemoryJournal
from bridge.journals.memory_database import MemoryDatabase

LIMITS = PageLimits(max_rows=100, max_bytes=1_000)


@pytest.fixture
def database() -> MemoryDatabase:
    return MemoryDatabase()


def _journal(database: MemoryDatabase) -> MemoryJournal:
    return MemoryJournal(app="a", name="j", database=database, limits=LIMITS)


def test_a_snapshot_lists_what_was_open_below_the_last_that_ended(
    database: MemoryDatabase,
) -> None:
    first, second, third = database.begin(), database.begin(), database.begin()
    assert [tx.take_id() for tx in (first, second, third)] == [1, 2, 3]
    second.commit()
    assert database.snapshot() == PgSnapshot(1, 3, frozenset({1}))
    first.rollback()
    assert database.snapshot() == PgSnapshot(3, 3, frozenset())


def test_a_transaction_without_writes_takes_no_id(database: MemoryDatabase) -> None:
    before = database.snapshot()
    database.begin().commit()
    assert database.snapshot() == before


def test_a_crash_loses_open_transactions_and_what_was_not_flushed(
    database: MemoryDatabase,
) -> None:
    kept, lost, open_ = database.begin(), database.begin(), database.begin()
    for number, tx in enumerate((kept, lost, open_), start=1):
        tx.append(f"p{number}", 1)
    kept.commit()
    lost.commit(durable=False)
    database.crash()
    assert [stored.row.persistence_id for stored in database.rows()] == ["p1"]
    with pytest.raises(RuntimeError, match="has ended"):
        open_.commit()
    again = database.begin()
    again.append("p4", 1)
    assert again.txid == 2
    again.commit()
    assert [stored.row.place[0] for stored in database.rows()] == [1, 4]


def test_what_was_delivered_survives_a_crash_and_its_ids_are_not_handed_out_again(
    database: MemoryDatabase,
) -> None:
    journal = _journal(database)
    position = journal.attach(None).position
    written, rolled_back = database.begin(), database.begin()
    written.append("p", 1)
    rolled_back.take_id()
    written.commit(durable=False)
    rolled_back.rollback()
    page = journal.read(position, settle=False)
    assert len(page.rows) == 1
    assert isinstance(page.end, WindowPosition)
    database.crash()
    with pytest.raises(UnavailableError):
        journal.read(page.end, settle=False)
    later = database.begin()
    assert not page.end.old.sees(later.take_id())


def test_an_unsettled_empty_position_may_be_taken_back_a_settled_one_not(
    database: MemoryDatabase,
) -> None:
    for settle, same in ((False, True), (True, False)):
        journal = _journal(database)
        position = journal.attach(None).position
        gone = database.begin()
        txid = gone.take_id()
        gone.rollback()
        journal.read(position, settle=settle)
        database.crash()
        assert (database.begin().take_id() == txid) is same


def test_an_event_is_committed_once(database: MemoryDatabase) -> None:
    for _ in range(2):
        tx = database.begin()
        tx.append("p", 1)
        if database.snapshot().xmax == 1:
            tx.commit()
    with pytest.raises(OperatorError, match="exists already"):
        tx.commit()
