"""Rows from before the installation on SQLite: first, once, in order, resumable."""

import pytest

from bridge.core.positions import HistoryPosition, SequencePosition
from bridge.journals.base import PageLimits
from tests.contracts.journal_subject import Reading, keys
from tests.journals.sqlite.subject import SqliteSubject

NARROW = PageLimits(max_rows=2, max_bytes=1_000_000)


def _poll_restarting(reading: Reading, rounds: int = 12) -> list[tuple[str, int]]:
    got = []
    for _ in range(rounds):
        got += keys(reading.page().rows)
        reading.restart()
    return got


def test_history_comes_first_by_time_and_once(foreign: SqliteSubject) -> None:
    foreign.commit(("b", 1), timestamp_ms=3)
    foreign.commit(("a", 1), ("a", 2), timestamp_ms=5)
    foreign.commit(("c", 1), timestamp_ms=1)
    foreign.installer().install(None)
    foreign.commit(("a", 3), timestamp_ms=0)
    expected = [("c", 1), ("b", 1), ("a", 1), ("a", 2), ("a", 3)]
    assert keys(Reading(foreign).poll()) == expected
    assert _poll_restarting(Reading(foreign, NARROW)) == expected


def test_history_is_read_by_entity_where_times_go_back(foreign: SqliteSubject) -> None:
    foreign.commit(("b", 1), timestamp_ms=9)
    foreign.commit(("b", 2), timestamp_ms=1)
    foreign.commit(("a", 1), timestamp_ms=5)
    foreign.installer().install(None)
    reading = Reading(foreign, NARROW)
    assert reading.cursor.position == HistoryPosition(by_entity=True)
    assert _poll_restarting(reading) == [("a", 1), ("b", 1), ("b", 2)]


def test_history_resumes_behind_each_row_of_a_page(foreign: SqliteSubject) -> None:
    events = [("p", nr) for nr in range(1, 6)]
    foreign.commit(*events)
    foreign.installer().install(None)
    page = Reading(foreign).page()
    assert keys(page.rows) == events
    for done, row in enumerate(page.rows, start=1):
        reading = Reading(foreign)
        reading.keep(page.window.behind(row.place))
        reading.restart()
        assert keys(reading.poll()) == events[done:]


def test_history_rows_deleted_and_inserted_again_meanwhile_come_once(
    foreign: SqliteSubject,
) -> None:
    foreign.commit(*[("p", nr) for nr in range(1, 7)])
    foreign.installer().install(None)
    reading = Reading(foreign, NARROW)
    assert keys(reading.page().rows) == [("p", 1), ("p", 2)]
    foreign.run("DELETE FROM events WHERE sequence_nr IN (3, 5)")
    foreign.commit(("p", 5))
    got = keys(reading.poll())
    assert sorted(got) == [("p", 4), ("p", 5), ("p", 6)]


def test_start_now_leaves_history_out(foreign: SqliteSubject) -> None:
    foreign.commit(("old", 1))
    foreign.installer().install(None)
    foreign.commit(("old", 2))
    reading = Reading(foreign, start="now")
    assert reading.cursor.position == SequencePosition(1)
    foreign.commit(("new", 1))
    assert keys(reading.poll()) == [("new", 1)]


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE"])
def test_an_event_that_was_relayed_is_not_relayed_again_when_inserted_again(
    foreign: SqliteSubject, verb: str
) -> None:
    foreign.installer().install(None)
    foreign.commit(("p", 1))
    reading = Reading(foreign)
    assert keys(reading.poll()) == [("p", 1)]
    if verb == "INSERT":
        foreign.run("DELETE FROM events")
    foreign.run(f"{verb} INTO events VALUES ('p', 1, '{{}}', NULL, 7)")
    foreign.commit(("p", 2))
    assert keys(reading.poll()) == [("p", 2)]


def test_an_event_deleted_before_it_was_relayed_is_relayed(foreign: SqliteSubject) -> None:
    foreign.installer().install(None)
    reading = Reading(foreign)
    foreign.commit(("p", 1), ("p", 2))
    foreign.run("DELETE FROM events WHERE sequence_nr = 1")
    assert keys(reading.poll()) == [("p", 1), ("p", 2)]
