"""Numbers that the writers' transactions skip, whatever for, hold nothing up."""

import psycopg
import pytest

from tests.hostile.targets import BRIDGE
from tests.integration.stage import Stage, event_ids, rows

_PROMPT_S = 5.0


def _undo(stage: Stage, times: int) -> None:
    with stage.connect() as connection:
        for _ in range(times):
            BRIDGE.append(connection, rows("undone", 1))
            connection.rollback()


@pytest.mark.parametrize("times", [1, 1000])
def test_undone_inserts_hold_nothing_up(stage: Stage, times: int) -> None:
    first, second = rows("a", 10), rows("a", 1, start=11)
    with stage.relay() as relay:
        _undo(stage, times)
        stage.append(first)
        stage.wait_for(first)
        _undo(stage, times)  # the last numbers of all are missing, too
        stage.append(second)
        stage.wait_for(second, _PROMPT_S)
        relay.check_alive()
        assert '"error"' not in relay.printed()
    assert event_ids(stage.records()) == [event.id for event in first + second]


def test_a_first_number_of_thirty_million_is_a_number_like_any(stage: Stage) -> None:
    with psycopg.connect(stage.url) as connection:
        connection.execute("ALTER SEQUENCE bridge_events_ordering_seq RESTART 30000000")
    events = rows("a", 10)
    with stage.relay() as relay:
        stage.append(events)
        stage.wait_for(events, _PROMPT_S + 5)
        assert relay.peak_bytes() < 150 * 1024 * 1024
    stage.judge()


def test_numbers_taken_in_advance_are_refused_for_they_are_no_order(stage: Stage) -> None:
    with psycopg.connect(stage.url) as connection:
        connection.execute("ALTER SEQUENCE bridge_events_ordering_seq INCREMENT 50 CACHE 100")
    stage.append(rows("a", 1))
    with stage.relay() as relay:
        assert relay.wait() == 3
    assert "bridge_events_ordering_seq" in relay.printed()
    assert stage.records() == []
    with psycopg.connect(stage.url) as connection:
        connection.execute("ALTER SEQUENCE bridge_events_ordering_seq INCREMENT 50 CACHE 1")
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge()
