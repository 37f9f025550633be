"""Journals of the demonstration."""

from pathlib import Path

import pytest

from bridge.core.rows import RowKey
from bridge.demo.databases import BEGINNING, Database, open_database
from bridge.demo.story import Deposit
from bridge.errors import BridgeError, ConfigError


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of each kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/journal.db"
    return str(request.getfixturevalue("database_url"))


@pytest.fixture
def database(url: str) -> Database:
    """A journal that is not made yet."""
    return open_database(url, "bridge-demo-test")


def _idle() -> None:
    """Work that takes no time."""


def test_an_event_committed_late_lies_behind_the_cursor(database: Database) -> None:
    database.create()
    one, other = database.connect(), database.connect()
    seen: list[Deposit] = []

    def overtaken() -> None:
        other.append(RowKey("b", 1), '{"amount": 2}', _idle, fair=False)
        seen.extend(other.behind(BEGINNING))

    one.append(RowKey("a", 1), '{"amount": 1}', overtaken, fair=False)
    last = seen[-1]
    assert [deposit.key for deposit in seen] == [("b", 1)]
    assert other.behind((last.timestamp_ms, *last.key)) == []
    assert [deposit.key for deposit in other.everything()] == [("a", 1), ("b", 1)]
    one.close()
    other.close()
    database.remove()


def test_a_fair_time_is_taken_after_the_work(database: Database) -> None:
    database.create()
    session = database.connect()
    times = []

    def work() -> None:
        times.append(session.append(RowKey("a", 1), '{"amount": 1}', _idle, fair=True))

    times.append(session.append(RowKey("b", 1), '{"amount": 1}', work, fair=True))
    assert times == sorted(times)
    assert [d.persistence_id for d in session.behind(BEGINNING)] == ["a", "b"]
    session.close()
    database.remove()


def test_what_is_there_already_is_neither_used_nor_removed(url: str, database: Database) -> None:
    database.create()
    session = database.connect()
    session.append(RowKey("a", 1), '{"amount": 1}', _idle, fair=False)
    again = open_database(url, "bridge-demo-test")
    with pytest.raises(BridgeError):
        again.create()
    again.remove()
    assert [deposit.key for deposit in session.everything()] == [("a", 1)]
    session.close()
    database.remove()


@pytest.mark.parametrize("url", ["mysql://u:secret@host/db", "nonsense"])
def test_a_journal_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        open_database(url, "bridge-demo-test")
    assert "secret" not in str(refusal.value)
    assert "postgresql://" in str(refusal.value)
