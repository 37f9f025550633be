"""Events that cannot be published: they wait, in order, and harm nobody."""

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest

from bridge.cli.exits import run
from bridge.config import load_config
from bridge.relay.assemble import assemble_relay
from tests.hostile.events import Event
from tests.hostile.relays import Moment
from tests.integration.administration import Administrator
from tests.integration.conftest import StageFactory
from tests.integration.stage import Stage, event_ids, rows
from tests.services import KafkaBroker

_WAITING = 6
_LARGE = 5_000


@pytest.fixture
def administrator(kafka: KafkaBroker) -> Administrator:
    return Administrator(kafka.bootstrap_servers)


@pytest.fixture
def narrow(stage: Stage, administrator: Administrator) -> Stage:
    """A stage whose topic takes small events only."""
    administrator.create_topic(stage.topic(), {"max.message.bytes": "2000"})
    return stage


def _bridge(stage: Stage, *arguments: str, code: int = 0) -> str:
    """What a command, run in this process, prints; it must end with `code`."""
    with redirect_stdout(StringIO()) as printed:
        ended = run(["-c", str(stage.bridge.config), *arguments])
    assert ended == code, printed.getvalue()
    return printed.getvalue()


def _dlq(stage: Stage, *arguments: str, code: int = 0) -> str:
    return _bridge(stage, "dlq", *arguments, code=code)


def _parked(stage: Stage) -> dict[str, Any]:
    """Parked entities by id."""
    found = json.loads(_dlq(stage, "list", "--json"))["orders"]["parked"]
    return {entity["persistence_id"]: entity for entity in found}


def _mend(stage: Stage, administrator: Administrator) -> None:
    administrator.set_topic(stage.topic(), "max.message.bytes", "20000")


def _catch_up(stage: Stage) -> None:
    assemble_relay(load_config(stage.bridge.config, {}), "orders", until_caught_up=True).run()


def _counts(stage: Stage) -> dict[str, int]:
    """What `verify`, which must find no fault, has counted apart."""
    report = json.loads(_bridge(stage, "verify", "--json"))
    kinds = ("missing", "duplicated", "inverted", "unexpected", "parked", "discarded")
    return {kind: report[kind] for kind in kinds if report[kind]}


def _ids(events: Iterable[Event]) -> list[Any]:
    return [event.id for event in events]


def test_an_oversize_event_and_its_later_ones_wait_and_nobody_else_does(
    narrow: Stage, administrator: Administrator
) -> None:
    small, large = rows("s", 1, padding=100), rows("l", 1, padding=_LARGE)
    behind, others = rows("l", 2, start=2), rows("b", 1)
    narrow.append([*small, *large, *behind, *others])
    with narrow.relay() as relay:
        narrow.wait_for([*small, *others])
        parked = _parked(narrow)["l"]
        assert (parked["first"], parked["last"], parked["events"]) == (1, 3, 3)
        assert "max.message.bytes=2000" in parked["reason"]
        assert _counts(narrow) == {"parked": 3}
        assert "1 entities, 3 events" in _bridge(narrow, "status")
        letters = [json.loads(line) for line in _show(narrow, "l")]
        assert [letter["sequence_nr"] for letter in letters] == [1, 2, 3]
        assert [letter["payload"].encode() for letter in letters] == [
            event.payload for event in [*large, *behind]
        ]

        said = _dlq(narrow, "replay", "l", code=_WAITING)
        assert "still parked: event 'l'/1" in said
        _mend(narrow, administrator)
        assert _dlq(narrow, "replay", "l") == "'l': released\n"
        further = rows("l", 1, start=4)
        narrow.append(further)
        narrow.wait_for([*large, *behind, *further])
        relay.check_alive()
    assert _counts(narrow) == {}
    narrow.judge()
    assert _dlq(narrow, "replay", "--all") == "journal orders: nothing is parked\n"


def _show(stage: Stage, pid: str) -> list[str]:
    return _dlq(stage, "show", pid, "--payload", "--json").splitlines()


def test_ten_poisonous_events_among_ten_thousand_hold_up_their_entities_only(
    narrow: Stage, administrator: Administrator
) -> None:
    rng = random.Random(7)
    entities = [f"e{n}" for n in range(50)]
    poisoned = {pid: rng.randint(1, 190) for pid in rng.sample(entities, 10)}
    events = [
        _event(pid, nr, _LARGE if poisoned.get(pid) == nr else 0)
        for nr in range(1, 201)
        for pid in entities
    ]
    for start in range(0, len(events), 1_000):
        narrow.append(events[start : start + 1_000])
    _catch_up(narrow)
    flowing = [e for e in events if e.id[1] < poisoned.get(e.id[0], 1_000)]
    assert event_ids(narrow.records()) == _ids(flowing)
    assert {pid: e["first"] for pid, e in _parked(narrow).items()} == poisoned
    assert _counts(narrow) == {"parked": len(events) - len(flowing)}

    _mend(narrow, administrator)
    with narrow.relay():
        said = _dlq(narrow, "replay", "--all")
        assert said.count("released") == 10
    assert len(narrow.records()) == len(events)
    narrow.judge()
    assert _counts(narrow) == {}


@pytest.mark.slow
def test_a_request_without_a_relay_stays_and_the_next_one_performs_it(
    narrow: Stage, administrator: Administrator
) -> None:
    events = [*rows("l", 1, padding=_LARGE), *rows("l", 3, start=2)]
    narrow.append(events)
    _catch_up(narrow)
    _mend(narrow, administrator)
    said = _dlq(narrow, "replay", "l", "--wait", "0", code=_WAITING)
    assert "the request stays" in said
    assert _parked(narrow)["l"]["requested"] is True
    _catch_up(narrow)
    assert event_ids(narrow.records()) == _ids(events)
    assert _parked(narrow) == {}


@pytest.mark.slow
def test_a_poisonous_event_behind_a_mended_one_keeps_the_rest_parked(stage: Stage) -> None:
    events = rows("m", 4)
    stage.append(events)
    _spoil(stage, 1, 3)
    _catch_up(stage)
    _spoil(stage, 1, mended=True)
    with stage.relay():
        assert "'m'/3" in _dlq(stage, "replay", "m", code=_WAITING)
        assert event_ids(stage.records()) == _ids(events[:2])
        _spoil(stage, 3, mended=True)
        _dlq(stage, "replay", "m")
    stage.judge()
    assert _counts(stage) == {}


def test_a_discarded_event_is_given_up_and_counted_and_the_rest_goes_on(stage: Stage) -> None:
    events = rows("m", 4)
    stage.append(events)
    _spoil(stage, 2)
    _catch_up(stage)
    _dlq(stage, "discard", "m", "3", code=2)
    with stage.relay():
        said = _dlq(stage, "discard", "m", "2", "--note", "a test order")
        assert said == "'m': released\n"
    assert event_ids(stage.records()) == _ids([events[0], *events[2:]])
    assert _counts(stage) == {"discarded": 1}
    (given_up,) = json.loads(_dlq(stage, "list", "--json"))["orders"]["discarded"]
    assert (given_up["sequence_nr"], given_up["note"]) == (2, "a test order")
    assert "'m'/2" in _dlq(stage, "list")


@pytest.mark.slow
def test_an_event_that_is_gone_from_the_journal_is_not_skipped(stage: Stage) -> None:
    events = rows("m", 3)
    stage.append(events)
    _spoil(stage, 1)
    _catch_up(stage)
    _spoil(stage, 1, mended=True)
    with stage.connect() as connection:
        connection.execute("DELETE FROM bridge_events WHERE sequence_nr = 2")
    with stage.relay():
        assert "no longer in the journal" in _dlq(stage, "replay", "m", code=_WAITING)
        assert event_ids(stage.records()) == _ids(events[:1])
        _dlq(stage, "discard", "m", "2")
    assert event_ids(stage.records()) == _ids([events[0], events[2]])


def test_kills_while_parking_and_releasing_change_nothing(
    make_stage: StageFactory, administrator: Administrator
) -> None:
    stage = make_stage(more={"relay": {"batch_max_records": 20}})
    administrator.create_topic(stage.topic(), {"max.message.bytes": "2000"})
    rng = random.Random(3)
    entities = [f"e{n}" for n in range(5)]
    poisoned = {pid: n * 40 + 5 for n, pid in enumerate(entities[:4])}
    events = [
        _event(pid, nr, _LARGE if poisoned.get(pid) == nr else 0)
        for nr in range(1, 241)
        for pid in entities
    ]
    stage.append(events)
    letters = f"{stage.app}--orders--dlq"
    _kill_again_and_again(stage, rng, [letters, stage.topic()])
    _catch_up(stage)
    assert {pid: e["first"] for pid, e in _parked(stage).items()} == poisoned
    waiting = sum(240 - nr + 1 for nr in poisoned.values())
    assert _counts(stage) == {"parked": waiting}

    _mend(stage, administrator)
    _dlq(stage, "replay", "--all", "--wait", "0", code=_WAITING)
    _kill_again_and_again(stage, rng, [stage.topic()])
    _catch_up(stage)
    assert _parked(stage) == {}
    stage.judge()
    assert _counts(stage) == {}


def _kill_again_and_again(stage: Stage, rng: random.Random, topics: Sequence[str]) -> None:
    """Two lives of a relay, each ended while the topics grow."""
    for _ in range(2):
        with stage.relay() as relay:
            moment = Moment(rng.randint(1, 150), 3.0)
            moment.wait(relay, lambda: sum(stage.reader.log_length(name, 1) for name in topics))
            relay.kill()


def _event(pid: str, nr: int, padding: int) -> Event:
    return rows(pid, 1, start=nr, padding=padding)[0]


def _spoil(stage: Stage, *numbers: int, mended: bool = False) -> None:
    """Give events a metadata key that no record may have, or take it from them."""
    metadata = "{}" if mended else '{"ce_id": "x"}'
    with stage.connect() as connection:
        connection.execute(
            "UPDATE bridge_events SET metadata = %s WHERE sequence_nr = ANY (%s)",
            [metadata, list(numbers)],
        )
