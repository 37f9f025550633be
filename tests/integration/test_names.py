"""Tags and persistence ids in all their ugliness, from the journal to the topics."""

from collections.abc import Callable, Mapping

from tests.hostile.events import Event
from tests.integration.stage import Stage, event_ids, rows

# What the documented escape makes of each tag, written out by hand.
_ESCAPED: Mapping[str, str] = {
    "orders": "orders",
    "Dont care": "Dont--20care",
    "a/b": "a--2fb",
    "заказы": "--d0--b7--d0--b0--d0--ba--d0--b0--d0--b7--d1--8b",
    "\N{CYRILLIC SMALL LETTER U}\N{CYRILLIC SMALL LETTER ES}": "--d1--83--d1--81",
    "yc": "yc",
    ".": "--2e",
    "..": "--2e2e",
    "\N{PARTY POPPER}": "--f0--9f--8e--89",
    "orders\n": "orders--0a",
    "User": "User",
    "UserEmail": "UserEmail",
    "User,Email": "User--2cEmail",
    "%": "--25",
    "_": "_",
    "aXb": "aXb",
    "a-b": "a-b",
    "a--b": "a--2d--2db",
}


def _topic_of(stage: Stage) -> Callable[[str], str]:
    return lambda tag: stage.topic(_ESCAPED[tag])


def test_each_tag_has_a_topic_of_its_own_with_the_events_that_carry_it(stage: Stage) -> None:
    events = [e for n, tag in enumerate(_ESCAPED) for e in rows(f"p-{n}", 1, tags=(tag,))]
    both = rows("both", 1, tags=("User", "UserEmail", "заказы"))
    stage.append([*events, *both])
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge([*events, *both], _topic_of(stage))
    assert {r.topic for r in stage.records()} == {stage.topic(n) for n in _ESCAPED.values()}


def test_persistence_ids_are_carried_byte_for_byte(stage: Stage) -> None:
    ids = ["a/b", "Order|1|2", "|x", "x|", "Order-1", " id ", "ключ", "line\nbreak", "x" * 255]
    events = [event for persistence_id in ids for event in rows(persistence_id, 2)]
    stage.append(events)
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge(events)
    assert {record.key for record in stage.records()} == {i.encode() for i in ids}


def test_events_without_a_topic_go_nowhere_and_hold_nothing_up(
    make_stage: Callable[..., Stage],
) -> None:
    stage = make_stage(more={"topics": {"exclude": ["internal-*"]}})
    untagged, hidden = rows("u", 30, tags=()), rows("h", 30, tags=("internal-audit",))
    mixed = rows("m", 3, tags=("internal-audit", "orders"))
    with stage.relay():
        stage.append([*untagged, *hidden])
        stage.append(mixed)
        stage.wait_for(mixed)
    assert event_ids(stage.records()) == [event.id for event in mixed]
    assert {record.topic for record in stage.records()} == {stage.topic()}


def test_a_repeated_tag_gives_one_record(stage: Stage) -> None:
    event = Event(rows("a", 1)[0].id, ("orders", "orders"), None, 1)
    stage.append([event])
    stage.bridge.run("relay", "--until-caught-up")
    assert event_ids(stage.records()) == [event.id]


def test_a_tag_that_only_a_broker_would_confuse_stops_naming_both(
    make_stage: Callable[..., Stage],
) -> None:
    stage = make_stage(more={"relay": {"on_poison": "stop"}})
    first, second = rows("a", 1, tags=("a_b",)), rows("b", 1, tags=("a.b",))
    with stage.relay() as relay:
        stage.append(first)
        stage.wait_for(first)
        stage.append(second)
        assert relay.wait() == 6
    said = relay.printed()
    assert stage.topic("a_b") in said
    assert stage.topic("a.b") in said
    assert event_ids(stage.records()) == [first[0].id]


def test_everything_topic_holds_every_event_once(
    make_stage: Callable[..., Stage], app: str
) -> None:
    stage = make_stage(more={"topics": {"all": f"{app}.everything"}})
    events = [*rows("u", 3, tags=()), *rows("t", 3, tags=("orders", "audit"))]
    stage.append(events)
    stage.bridge.run("relay", "--until-caught-up")
    complete = [r for r in stage.records() if r.topic == f"{app}.everything"]
    assert event_ids(complete) == [event.id for event in events]
