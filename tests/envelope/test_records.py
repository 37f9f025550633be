"""Row → records: copies, partitions, times, sizes, and what cannot be sent."""

import pytest
from aiokafka.record.default_records import (
    DefaultRecordBatchBuilder,
)
from hypothesis import given
from hypothesis import strategies as st

from bridge.core.batching import EncodedRow
from bridge.core.murmur2 import partition_of
from bridge.core.rows import JournalRow
from bridge.envelope.naming import TopicNames
from bridge.envelope.records import OutboundRecord, RowEncoder, TopicFacts, exact_size, mark_late
from tests.envelope.rows import FOREVER, facts, row

_NOW_MS = 1_800_000_000_000
_DAY_MS = 86_400_000
_TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=70)


def _encode(
    event: JournalRow, *topics: TopicFacts, unusable: dict[str, str] | None = None, **more: bool
) -> EncodedRow[OutboundRecord]:
    names = TopicNames(app="shop", journal="orders", template="{app}.{tag}")
    encoder = RowEncoder(names, "/shop/orders", **more)
    known = {name: facts(name) for name in names.of_tags(event.tags)}
    given_facts = {topic.name: topic for topic in topics}
    [encoded] = encoder.encode([event], {**known, **given_facts, **(unusable or {})}, _NOW_MS)
    return encoded


def _varint(number: int) -> bytes:
    """Zigzag, seven bits a byte, low ones first."""
    number, out = number << 1, bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _batch_size(record: OutboundRecord) -> int:
    """Length of the record's batch, from its bytes laid out as the protocol says."""
    body = bytearray(1) + _varint(0) + _varint(0)  # attributes, time and offset deltas
    for field in (record.key, record.value):
        body += _varint(len(field)) + field
    body += _varint(len(record.headers))
    for name, value in record.headers:
        for text in (name.encode(), value.encode()):
            body += _varint(len(text)) + text
    header = 8 + 4 + 4 + 1 + 4 + 2 + 4 + 8 + 8 + 8 + 2 + 4 + 4
    return header + len(_varint(len(body))) + len(body)


_NAME = _TEXT.map(lambda text: f"x-{text}")  # never the name of one of our own headers
_EVENTS = st.builds(
    row,
    _TEXT,
    st.integers(1, 2**63 - 1),
    payload=st.one_of(
        st.binary(max_size=300), st.sampled_from([63, 64, 8191, 8192, 40_000]).map(bytes)
    ),
    tags=st.lists(_TEXT, min_size=1, max_size=3, unique=True).map(tuple),
    timestamp_ms=st.integers(-(2**63), 2**63 - 1),
    event_type=st.none() | _TEXT,
    content_type=st.none() | _TEXT,
    metadata=st.lists(st.tuples(_NAME, _TEXT), max_size=70).map(tuple),
)


@given(event=_EVENTS)
def test_the_size_reckoned_is_enough_and_exact_at_the_limit(event: JournalRow) -> None:
    encoded = _encode(event)
    needed = [_batch_size(record) for record in encoded.records]
    assert len(needed) == len(event.tags)
    assert encoded.size >= sum(needed)
    name, size = encoded.records[0].topic, needed[0]
    assert _encode(event, facts(name, max_message_bytes=size)).problem is None
    refused = _encode(event, facts(name, max_message_bytes=size - 1))
    assert refused.records == ()
    assert refused.problem is not None
    assert f"({size} bytes)" in refused.problem
    assert f"topic {name} takes max.message.bytes={size - 1}" in refused.problem


@given(event=_EVENTS)
def test_the_size_is_the_one_of_another_client(event: JournalRow) -> None:
    record = _encode(event).records[0]
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=True,
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        batch_size=10**6,
    )
    headers = [(name, value.encode()) for name, value in record.headers]
    builder.append(0, record.timestamp_ms, record.key, record.value, headers)
    size = len(builder.build())
    assert size == _batch_size(record)
    assert _encode(event, facts(record.topic, max_message_bytes=size)).problem is None
    assert _encode(event, facts(record.topic, max_message_bytes=size - 1)).problem is not None


def test_a_row_goes_to_each_topic_with_all_its_tags_in_its_own_partition() -> None:
    event = row("order-1", 7, tags=("a", "b"), payload=b"\x00\xff")
    encoded = _encode(event, facts("shop.a", partitions=6), facts("shop.b", partitions=5))
    key = b"order-1"
    assert encoded.partitions == (
        ("shop.a", partition_of(key, 6)),
        ("shop.b", partition_of(key, 5)),
    )
    for record, (topic, partition) in zip(encoded.records, encoded.partitions, strict=True):
        assert (record.topic, record.partition) == (topic, partition)
        assert (record.key, record.value) == (key, b"\x00\xff")
        assert ("ce_tags", '["a", "b"]') in record.headers
    assert (encoded.persistence_id, encoded.sequence_nr, encoded.place) == ("order-1", 7, (7,))
    assert encoded.problem is None


@pytest.mark.parametrize(
    "persistence_id", ["a/b", "Order|1|2", "|x", "x|", " id ", "ключ", "i" * 256, "a\nb"]
)
def test_the_key_is_the_exact_bytes_of_the_id(persistence_id: str) -> None:
    [record] = _encode(row(persistence_id)).records
    assert record.key == persistence_id.encode()
    assert record.partition == partition_of(record.key, 6)


def test_a_row_without_topics_still_moves_the_cursor() -> None:
    encoded = _encode(row(tags=(), payload=None))
    assert encoded == EncodedRow("order-1", 1, (1,), (), 0, (), None)


@pytest.mark.parametrize(
    ("timestamp_ms", "sent_ms"),
    [(0, 1), (-1, 1), (-(2**63), 1), (1, 1), (2**63 - 1, 2**63 - 1), (_NOW_MS, _NOW_MS)],
)
def test_the_record_time_is_the_events_within_what_kafka_takes(
    timestamp_ms: int, sent_ms: int
) -> None:
    [record] = _encode(row(timestamp_ms=timestamp_ms)).records
    assert record.timestamp_ms == sent_ms


def test_room_is_kept_for_the_mark_of_a_late_record() -> None:
    event = row(payload=b"x" * 1000)
    [record] = _encode(event, facts("shop.a")).records
    size = exact_size(record)
    assert _encode(event, facts("shop.a", max_message_bytes=size)).problem is None
    assert _encode(event, facts("shop.a", max_message_bytes=size), late=True).problem is not None
    late = mark_late(_encode(event, facts("shop.a", max_message_bytes=size + 21), late=True))
    assert exact_size(late.records[0]) <= size + 21


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (row(payload=None), "payload is NULL"),
        (row("bad\ud800"), "not Unicode"),
        (row(tags=("a\ud800",)), "not Unicode"),
        (row(event_type="\udfff"), "not Unicode"),
        (row(metadata=(("k", "\ud800"),)), "not Unicode"),
        (row(metadata=(("bridge_late", "true"),)), "reserved name bridge_late"),
        (row(metadata=(("CE_id", "x"),)), "reserved name CE_id"),
    ],
)
def test_a_row_that_cannot_be_a_record_says_why(event: JournalRow, reason: str) -> None:
    encoded = _encode(event)
    assert encoded.records == ()
    assert encoded.problem is not None
    assert reason in encoded.problem
    assert f"event {event.persistence_id!r}/{event.sequence_nr} (" in encoded.problem


def test_one_unusable_topic_keeps_the_row_from_all_its_topics() -> None:
    encoded = _encode(row(tags=("a", "b")), unusable={"shop.b": "the limit of topics is reached"})
    assert (encoded.records, encoded.partitions) == ((), ())
    assert encoded.problem is not None
    assert encoded.problem.endswith("the limit of topics is reached")


@pytest.mark.parametrize(
    ("age_ms", "topic", "reason"),
    [
        (_DAY_MS, {"retention_ms": _DAY_MS}, None),
        (_DAY_MS + 1, {"retention_ms": _DAY_MS}, "retention.ms=86400000"),
        (1, {"retention_ms": 0}, "retention.ms=0"),
        (_NOW_MS, {"retention_ms": -1}, None),
        (_DAY_MS, {"before_ms": _DAY_MS}, None),
        (_DAY_MS + 1, {"before_ms": _DAY_MS}, "message.timestamp.before.max.ms=86400000"),
        (-_DAY_MS, {"after_ms": _DAY_MS}, None),
        (-_DAY_MS - 1, {"after_ms": _DAY_MS}, "message.timestamp.after.max.ms=86400000"),
        (-_DAY_MS, {"retention_ms": 1, "before_ms": 1}, None),
        (_NOW_MS - FOREVER, {}, None),
        (_DAY_MS, {"retention_ms": 1, "before_ms": 1, "append_time": True}, None),
        (-_DAY_MS, {"after_ms": 1, "append_time": True}, None),
    ],
)
def test_a_time_that_the_topic_refuses_or_deletes_is_refused_before(
    age_ms: int, topic: dict[str, int], reason: str | None
) -> None:
    refusal = facts("t", **topic).refusal(_NOW_MS - age_ms, _NOW_MS)  # type: ignore[arg-type]
    assert (refusal is None) if reason is None else (refusal is not None and reason in refusal)


def test_a_refused_time_is_a_problem_of_its_row() -> None:
    old = row(timestamp_ms=_NOW_MS - 2 * _DAY_MS)
    encoded = _encode(old, facts("shop.a", retention_ms=_DAY_MS))
    assert encoded.records == ()
    assert encoded.problem is not None
    assert "topic shop.a: its time is older than retention.ms" in encoded.problem


def test_only_a_late_row_is_marked_and_the_mark_is_all_that_changes() -> None:
    encoded = _encode(row(tags=("a", "b")))
    late = mark_late(encoded)
    for before, after in zip(encoded.records, late.records, strict=True):
        assert after == before._replace(headers=[*before.headers, ("bridge_late", "true")])
        assert "bridge_late" not in dict(before.headers)
    assert late._replace(records=encoded.records) == encoded


def test_topics_of_rows_are_those_of_all_their_tags() -> None:
    names = TopicNames(app="shop", journal="orders", template="{app}.{tag}", exclude=("c",))
    rows = [row(tags=("a", "b")), row(tags=("b", "c")), row(tags=())]
    assert RowEncoder(names, "s").topics_of(rows) == {"shop.a", "shop.b"}
