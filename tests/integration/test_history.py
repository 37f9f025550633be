"""The order of what was there before the install, and beginning from now on instead."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.events import Event, EventId
from tests.hostile.targets import ACTOR_TS_COLUMNS, ACTOR_TS_OUTBOX, BRIDGE, Target
from tests.integration.foreign import ForeignStage, Place, foreign_stage, insert_at
from tests.integration.stage import TAG, event_ids, rows
from tests.services import KafkaBroker
from tests.waiting import wait_until

_ENTITIES, _EACH = 20, 50
_FIRST_MS = 1_700_000_000_000

Timed = list[tuple[Event, int]]


def _name(value: object) -> str | None:
    return value.name if isinstance(value, Target) else None


@pytest.fixture
def place(tmp_path: Path, database_url: str, kafka: KafkaBroker, app: str) -> Place:
    """On the shared servers."""
    return Place(tmp_path, database_url, kafka.bootstrap_servers, app)


def _timed(*, backwards: bool) -> Timed:
    """Events of several entities, with ties between them; in one of them time may go back."""
    rng = random.Random(3)
    found: Timed = []
    for entity in range(_ENTITIES):
        now_ms = _FIRST_MS
        for event in rows(f"e-{entity}", _EACH):
            now_ms += rng.choice((0, 1, 5, 40))
            found.append((event, now_ms))
    if backwards:
        event, _ = found[_EACH // 2]
        found[_EACH // 2] = (event, _FIRST_MS - 1)
    rng.shuffle(found)
    return found


def _write_history(stage: ForeignStage, timed: Timed) -> None:
    with stage.connect() as connection:
        insert_at(connection, timed)
    stage.attach()


def _published_through_a_kill(stage: ForeignStage, timed: Timed, order: str) -> list[EventId]:
    """What two relays published in many small transactions, the first of them killed early."""
    with stage.relay() as relay:
        stage.wait_for_log(relay, TAG, 50)
        relay.kill()
    with stage.relay() as relay:
        stage.wait_for_log(relay, TAG, len(timed))
        assert relay.terminate() == 0
    stage.catch_up()
    beginning, resumed = stage.attached_at()
    assert beginning == f"history {order}, at its beginning"
    assert resumed.startswith(f"history {order}, behind")
    return event_ids(stage.records(TAG))


@pytest.mark.parametrize(
    "target", [ACTOR_TS_OUTBOX, pytest.param(ACTOR_TS_COLUMNS, marks=pytest.mark.slow)], ids=_name
)
def test_between_entities_the_order_is_that_of_the_events_own_times(
    target: Target, place: Place
) -> None:
    timed = _timed(backwards=False)
    with foreign_stage(place, target, relay={"batch_max_records": 10}) as stage:
        _write_history(stage, timed)
        in_time = [event.id for event, _ in sorted(timed, key=lambda one: (one[1], one[0].id))]
        assert _published_through_a_kill(stage, timed, "by time") == in_time
        stage.require_sound([event for event, _ in timed])


@pytest.mark.parametrize(
    "target", [pytest.param(ACTOR_TS_OUTBOX, marks=pytest.mark.slow), ACTOR_TS_COLUMNS], ids=_name
)
def test_where_time_goes_back_the_history_comes_entity_by_entity(
    target: Target, place: Place
) -> None:
    timed = _timed(backwards=True)
    with foreign_stage(place, target, relay={"batch_max_records": 10}) as stage:
        _write_history(stage, timed)
        by_entity = sorted(event.id for event, _ in timed)
        assert _published_through_a_kill(stage, timed, "by entity") == by_entity
        stage.require_sound([event for event, _ in timed])


@pytest.mark.parametrize("target", [BRIDGE, ACTOR_TS_OUTBOX, ACTOR_TS_COLUMNS], ids=_name)
def test_from_now_on_means_what_was_not_visible_at_the_first_start(
    target: Target, place: Place
) -> None:
    with foreign_stage(place, target, journal={"start": "now"}) as stage:
        history = [] if target is BRIDGE else rows("old", 5)
        if history:
            stage.append(history)
        stage.attach()
        before = [*rows("seen", 4), *rows("old", 2, start=6)]
        stage.append(before)
        open_at_the_anchor = rows("open", 3)
        with stage.connect() as connection:
            target.append(connection, open_at_the_anchor[:2])
            with stage.relay() as relay:
                wait_until(lambda: "attached" in relay.printed(), 30, "the anchor")
                after = [*rows("new", 3), *rows("seen", 2, start=5)]
                stage.append(after)
                stage.wait_for_log(relay, TAG, len(after))
                target.append(connection, open_at_the_anchor[2:])
                connection.commit()
                stage.wait_for_log(relay, TAG, len(after + open_at_the_anchor))
                assert relay.terminate() == 0
        stage.catch_up()
        expected = after + open_at_the_anchor
        assert sorted(event_ids(stage.records(TAG))) == sorted(event.id for event in expected)
        assert not any(stage.findings(expected).counts().values())
        assert _verified(stage) == {
            "before_start": len(history + before),
            "missing": 0,
            "not_published_yet": 0,
            "records": len(expected),
            "rows": len(history + before + expected),
        }


def _verified(stage: ForeignStage) -> Mapping[str, Any]:
    report = stage.bridge.verify()
    keys = ("before_start", "missing", "not_published_yet", "records", "rows")
    return {key: report[key] for key in keys}
