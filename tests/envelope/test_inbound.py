"""Records back to events, and which topic an event is taken from."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bridge.core.rows import JournalRow
from bridge.envelope.inbound import Event, InboundRecord, MalformedRecordError, decode
from bridge.envelope.naming import TopicNames
from bridge.envelope.records import RowEncoder, TopicFacts, mark_late
from bridge.envelope.subscription import Subscription

NAMES = TopicNames(app="shop", journal="orders", template="{app}.{tag}", mapping={"b2": "shop.b"})
FAR_MS = 253_402_300_800_000  # the year 10000, which ce_time cannot express


def _records(
    tags: tuple[str, ...] = ("a",), timestamp_ms: int = 1_234, late: bool = False
) -> list[InboundRecord]:
    """What a consumer gets of one row."""
    row = JournalRow(
        "ключ", 7, b"{}", tags, timestamp_ms, "Happened", "text/x", (("trace", "1"),), ()
    )
    facts = {
        name: TopicFacts(name, "id", 1, 1_000_000, -1, 2**63 - 1, 2**63 - 1, False)
        for name in NAMES.of_tags(tags)
    }
    [encoded] = RowEncoder(NAMES, "/shop/orders").encode([row], facts, 0)
    assert encoded.problem is None
    return [
        InboundRecord(r.topic, 0, 5, r.key, r.value, [(k, v.encode()) for k, v in r.headers])
        for r in (mark_late(encoded) if late else encoded).records
    ]


def test_an_event_comes_back_as_it_was_stored() -> None:
    [record] = _records()
    event = decode(record, "orders")
    assert event == Event(
        persistence_id="ключ",
        sequence_nr=7,
        payload=b"{}",
        type="Happened",
        content_type="text/x",
        tags=("a",),
        timestamp_ms=1_234,
        metadata={"trace": "1"},
        journal="orders",
        source="/shop/orders",
        late=False,
        topic="shop.a",
        partition=0,
        offset=5,
    )
    assert event.time == datetime(1970, 1, 1, 0, 0, 1, 234_000, UTC)
    assert event.json() == {}
    assert "{}" not in repr(event)


def test_late_and_far_events() -> None:
    [record] = _records(timestamp_ms=FAR_MS, late=True)
    event = decode(record, "orders")
    assert event.late
    assert event.timestamp_ms == FAR_MS
    assert event.time is None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"key": None}, "no key"),
        ({"value": None}, "no value"),
        ({"key": b"\xff"}, "not UTF-8"),
        ({"headers": []}, "no header ce_source"),
        ({"ce_sequence": b"seven"}, "means nothing"),
        ({"ce_tags": b'"a"'}, "no JSON array"),
        ({"ce_tags": b"["}, "means nothing"),
        ({"ce_time": b"yesterday"}, "means nothing"),
    ],
)
def test_a_record_of_somebody_else_is_told(change: dict[str, Any], what: str) -> None:
    [record] = _records()
    fields: dict[str, Any] = {k: v for k, v in change.items() if not k.startswith("ce_")}
    headers = [(k, change.get(k, v)) for k, v in record.headers]
    broken = record._replace(**{"headers": headers, **fields})
    with pytest.raises(MalformedRecordError, match=what):
        decode(broken, "orders")


@pytest.mark.parametrize(
    ("tags", "subscribed", "taken_from"),
    [
        (("a",), ("a",), ["shop.a"]),
        (("a", "c"), ("a", "c"), ["shop.a"]),
        (("c", "a"), ("a", "c"), ["shop.c"]),
        (("x", "c", "a"), ("a", "c"), ["shop.c"]),
        (("b2", "b"), ("b", "b2"), ["shop.b"]),  # two tags of one topic
        (("x",), ("a",), []),
    ],
)
def test_an_event_is_taken_from_its_first_subscribed_tag(
    tags: tuple[str, ...], subscribed: tuple[str, ...], taken_from: list[str]
) -> None:
    subscription = Subscription(subscribed, {"orders": NAMES})
    read = [record for record in _records(tags) if record.topic in subscription.topics]
    taken = [r.topic for r in read if subscription.takes(decode(r, "orders"))]
    assert taken == taken_from


def test_each_journal_has_topics_of_its_own() -> None:
    template = "{app}.{journal}.{tag}"
    journals = {
        j: TopicNames(app="shop", journal=j, template=template, exclude=("c",)) for j in ("x", "y")
    }
    subscription = Subscription(["a", "c"], journals)
    assert subscription.topics == {"shop.x.a", "shop.y.a"}
    assert subscription.journal_of("shop.y.a") == "y"
    assert set(subscription.without_topic) == {"c"}
