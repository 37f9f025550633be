"""Installing while somebody holds the journal: writers are not held up, and the error names him."""

import time
from random import Random

import pytest

from bridge.errors import SetupError
from bridge.journals.postgres.install import install
from bridge.journals.postgres.patience import random_pause
from bridge.journals.postgres.table import Install
from tests.journals.postgres.foreign import ForeignJournal, Writers, schema_dump
from tests.waiting import wait_until

INSTALLS: list[Install] = ["outbox", "columns"]


@pytest.mark.parametrize("how", INSTALLS)
def test_gives_up_naming_the_blocker_and_lets_writers_through(
    foreign: ForeignJournal, how: Install
) -> None:
    before = schema_dump(foreign.url)
    blocker = foreign.connect(foreign.writer, application="slow importer")
    writers = Writers(foreign, count=2)
    with blocker.transaction():
        foreign.append(blocker, "slow", 1)
        writers.start()
        try:
            wait_until(lambda: writers.total() > 20, what="writers run")
            started, written = time.monotonic(), writers.total()
            with pytest.raises(SetupError) as caught:
                foreign.install(how, limit_s=2.5)
            took_s, during = time.monotonic() - started, writers.total() - written
        finally:
            writers.stop()
    pid = blocker.info.backend_pid
    assert f"held up by pid {pid} (" in caught.value.what
    assert "application slow importer, RowExclusiveLock)" in caught.value.what
    assert writers.errors == []
    assert took_s >= 2.5
    assert during > 20
    # One wait of 100 ms and a generous allowance for a busy machine; without the time-out a writer
    # would have waited for the whole 2.5 s.
    assert writers.longest_s < 1.0
    assert schema_dump(foreign.url) == before
    foreign.install(how)


def test_names_a_prepared_transaction(foreign: ForeignJournal) -> None:
    writer = foreign.connect(foreign.writer)
    writer.execute("BEGIN")
    foreign.append(writer, "p", 1)
    writer.execute("PREPARE TRANSACTION 'forgotten'")
    with pytest.raises(SetupError, match="held up by prepared transaction 'forgotten' "):
        foreign.install("outbox", limit_s=0.3)


def test_pauses_between_tries_are_random_and_short(foreign: ForeignJournal) -> None:
    pauses: list[float] = []
    blocker = foreign.connect(foreign.writer)
    with blocker.transaction():
        foreign.append(blocker, "p", 1)
        with pytest.raises(SetupError):
            install(
                foreign.connect(foreign.owner),
                foreign.table("outbox"),
                pause=random_pause(pauses.append, Random(1)),
                limit_s=0.7,
            )
    assert len(pauses) > 2
    assert len(set(pauses)) == len(pauses)
    assert all(0.05 <= pause <= 0.5 for pause in pauses)


def test_refuses_a_connection_without_autocommit(foreign: ForeignJournal) -> None:
    conn = foreign.connect(foreign.owner)
    conn.autocommit = False
    with pytest.raises(ValueError, match="autocommit"):
        install(conn, foreign.table("outbox"), pause=lambda: None, limit_s=1.0)
