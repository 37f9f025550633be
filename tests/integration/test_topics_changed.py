"""Topics that change under the relay: deleted, closed to it, or too narrow for an event."""

import pytest

from tests.integration.administration import Administrator
from tests.integration.conftest import StageFactory
from tests.integration.load import Load
from tests.integration.stage import Stage, event_ids, rows
from tests.services import KafkaBroker
from tests.waiting import wait_until

_OPERATOR = 6
_STOP = {"relay": {"on_poison": "stop"}}


@pytest.fixture
def administrator(kafka: KafkaBroker) -> Administrator:
    return Administrator(kafka.bootstrap_servers)


def test_a_deleted_topic_stops_the_relay_which_names_what_may_be_lost(
    stage: Stage, administrator: Administrator
) -> None:
    kept = rows("kept", 2, tags=("audit",))
    with stage.relay() as relay:
        stage.append(kept)
        stage.wait_for(kept)
        with Load(stage.url, threads=1):
            stage.wait_for_traffic(relay)
            administrator.delete_topic(stage.topic())
            assert relay.wait() == _OPERATOR
    said = relay.printed()
    assert f"topic {stage.topic()} (id " in said
    assert "rows were published since all topics last matched, from position snapshot" in said
    # The other topic is as it was; nobody has made the deleted one anew.
    assert event_ids(stage.records()) == [event.id for event in kept]


def test_the_relay_waits_while_it_may_not_write_and_goes_on_by_itself(
    fragile_stage: Stage, fragile_kafka: KafkaBroker
) -> None:
    administrator = Administrator(fragile_kafka.bootstrap_servers)
    before, held = rows("a", 5), rows("a", 300, start=6)
    with fragile_stage.relay() as relay:
        fragile_stage.append(before)
        fragile_stage.wait_for(before)
        administrator.withdraw_writing(fragile_stage.topic())
        try:
            fragile_stage.append(held)
            wait_until(lambda: "AUTHORIZATION" in relay.printed(), 20, "a refusal")
            relay.check_alive()
            assert event_ids(fragile_stage.records()) == [event.id for event in before]
        finally:
            administrator.give_writing_back(fragile_stage.topic())
        fragile_stage.wait_for(held)
        relay.check_alive()
    fragile_stage.judge()


def test_by_choice_an_oversize_event_stops_the_relay_and_harms_no_small_one(
    make_stage: StageFactory, administrator: Administrator
) -> None:
    stage = make_stage(more=_STOP)
    administrator.create_topic(stage.topic(), {"max.message.bytes": "2000"})
    small, large, behind = rows("s", 1, padding=100), rows("l", 1, padding=5000), rows("b", 1)
    stage.append([*small, *large, *behind])
    with stage.relay() as relay:
        assert relay.wait() == _OPERATOR
    said = relay.printed()
    size = next(int(word[1:]) for word in said.split() if word[:1] == "(" and word[1:].isdigit())
    assert size > len(large[0].payload), "the size counts key, headers and framing"
    assert "journal orders: event 'l'/1" in said
    assert "max.message.bytes=2000" in said
    assert event_ids(stage.records()) == [small[0].id]

    administrator.set_topic(stage.topic(), "max.message.bytes", "20000")
    stage.bridge.run("relay", "--until-caught-up")
    assert event_ids(stage.records()) == [e[0].id for e in (small, large, behind)]
    stage.judge()


def test_an_event_just_within_the_limit_of_its_topic_is_published(
    stage: Stage, administrator: Administrator
) -> None:
    """Small ones beside it share its topic; a batch of all of them would be too large."""
    administrator.create_topic(stage.topic(), {"max.message.bytes": "2000"})
    stage.append([*rows("a", 40, padding=300), *rows("l", 1, padding=1400), *rows("b", 40)])
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge()


def test_a_limit_lowered_behind_the_relays_back_is_noticed(
    make_stage: StageFactory, administrator: Administrator
) -> None:
    stage = make_stage(more=_STOP)
    with stage.relay() as relay:
        first = rows("a", 1, padding=5000)
        stage.append(first)
        stage.wait_for(first)
        administrator.set_topic(stage.topic(), "max.message.bytes", "2000")
        many = [e for n in range(30) for e in rows(f"e{n}", 4, padding=400)]
        stage.append(many)
        stage.wait_for(many)
        relay.check_alive()
        stage.append([*rows("a", 1, start=2, padding=5000), *rows("z", 1)])
        assert relay.wait(40) == _OPERATOR
    assert "event 'a'/2" in relay.printed()
    assert set(event_ids(stage.records())) == {event.id for event in [*first, *many]}
    administrator.set_topic(stage.topic(), "max.message.bytes", "20000")
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge()
