"""Two relays of one journal: the later one fences the earlier, and every event stays single."""

import pytest

from tests.hostile.relays import Relay
from tests.integration.stage import Stage, let_pass, rows
from tests.waiting import wait_until

_FENCED = 5
_BACKLOG = 5000


def _write_backlog(stage: Stage) -> None:
    stage.append([e for n in range(_BACKLOG // 50) for e in rows(f"e-{n}", 50)])


def _wait_for_records(stage: Stage, relay: Relay, number: int) -> None:
    def reached() -> bool:
        relay.check_alive()
        return stage.reader.log_length(stage.topic(), 1) >= number

    wait_until(reached, 30, f"{number} records")


def test_the_later_relay_takes_over_and_the_earlier_ends_saying_so(stage: Stage) -> None:
    _write_backlog(stage)
    with stage.relay("first") as first:
        _wait_for_records(stage, first, 500)
        with stage.relay("second") as second:
            wait_until(lambda: "attached" in second.printed(), 30, "the second is at work")
            stage.append(rows("more", 100))  # the first may have published all that there was
            assert first.wait(40) == _FENCED
            assert "has taken over" in first.printed()
            stage.wait_for(stage.stored())
            second.check_alive()
    stage.judge()


def test_a_frozen_relay_comes_back_fenced_and_publishes_nothing(stage: Stage) -> None:
    _write_backlog(stage)
    with stage.relay("first") as first:
        _wait_for_records(stage, first, 500)
        first.pause()
        with stage.relay("second") as second:
            stage.wait_for(stage.stored())
            first.resume()
            stage.append(rows("more", 100))
            assert first.wait(40) == _FENCED
            stage.wait_for(stage.stored())
            second.check_alive()
    stage.judge()


def test_a_relay_that_loses_its_database_sessions_connects_anew(stage: Stage) -> None:
    _write_backlog(stage)
    with stage.relay() as relay:
        for part in range(1, 4):
            _wait_for_records(stage, relay, part * 1000)
            # None are there while it is just connecting anew.
            wait_until(stage.end_relay_sessions, what="sessions of the relay to end")
        stage.wait_for(stage.stored())
        stage.append(rows("more", 10))
        stage.wait_for(stage.stored())
        relay.check_alive()
    assert "terminating connection" in relay.printed()
    stage.judge()


@pytest.mark.slow
def test_a_relay_that_its_successor_outlived_for_long_stays_fenced(stage: Stage) -> None:
    """Frozen for longer than the broker keeps its transaction."""
    _write_backlog(stage)
    with stage.relay("first") as first:
        _wait_for_records(stage, first, 500)
        first.pause()
        with stage.relay("second") as second:
            stage.wait_for(stage.stored())
            let_pass(30)
            first.resume()
            assert first.wait(40) == _FENCED
            second.check_alive()
    stage.judge()
