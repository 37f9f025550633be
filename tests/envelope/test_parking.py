"""Records of parked entities: dead letters, state, and what they leave out when they must."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.core.batching import EncodedRow
from bridge.core.murmur2 import partition_of
from bridge.core.parking import ParkedEntity, ParkingChange, ReleaseRequest
from bridge.core.rows import JournalRow
from bridge.envelope.naming import TopicNames
from bridge.envelope.parked_codec import (
    ParkedLedger,
    discarded_key,
    encode_entity,
    encode_request,
    entity_key,
    request_key,
)
from bridge.envelope.parking import ParkingRecords
from bridge.envelope.records import OutboundRecord, RowEncoder, exact_size
from bridge.errors import OperatorError
from tests.envelope.rows import facts, row

_DLQ, _PARKED = "shop--orders--dlq", "shop--orders--parked"
_LIMIT = 3_000
_NUMBERS = st.integers(1, 2**63 - 1)
_IDS = st.text(min_size=1, max_size=30)  # lone surrogates included
_TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)

_GOLDEN_ENTITY = (
    "c301224e531bacef83230e6f726465722d3104060a1212000612746f6f206c6172676580a0abfef962"
)
_GOLDEN_REQUEST = "c3014d4944619aecd1730e6f726465722d310472310206046d650677687902"
"""As the first version wrote them: a reader must understand these for ever."""


def _records() -> ParkingRecords:
    dead_letters = facts(_DLQ, max_message_bytes=_LIMIT)
    return ParkingRecords("/shop/orders", dead_letters, facts(_PARKED, partitions=1), 0)


def _encoded(event: JournalRow, max_message_bytes: int = 1_000) -> EncodedRow[OutboundRecord]:
    names = TopicNames(app="shop", journal="orders", template="{app}.{tag}")
    topics = {
        name: facts(name, max_message_bytes=max_message_bytes) for name in names.of_tags(event.tags)
    }
    return RowEncoder(names, "/shop/orders").encode([event], topics, 0)[0]


def _change(pid: str) -> ParkingChange:
    return ParkingChange(pid, ParkedEntity(pid, ((1, 1),), 1, "the first one's reason", 7))


def _park(event: JournalRow) -> EncodedRow[OutboundRecord]:
    return _records().park(_encoded(event), _change(event.persistence_id))


def test_a_dead_letter_is_the_record_that_could_not_be_and_says_why() -> None:
    event = row("order-1", 3, payload=b"x" * 1_500, metadata=(("trace", "t"),))
    parked = _park(event)
    assert parked.problem is None
    letter, state = parked.records
    headers = dict(letter.headers)
    assert (letter.topic, letter.key, letter.value) == (_DLQ, b"order-1", b"x" * 1_500)
    assert letter.partition == partition_of(b"order-1", 6)
    assert (headers["ce_id"], headers["trace"]) == ("order-1/3", "t")
    assert "max.message.bytes=1000" in headers["bridge_dlq_reason"]
    assert (headers["bridge_dlq_size"], headers["bridge_dlq_payload"]) == ("1500", "whole")
    assert (state.topic, state.partition, state.key) == (_PARKED, 0, b"entity/order-1")
    assert parked.partitions == ((_DLQ, letter.partition), (_PARKED, 0))
    assert parked.size == exact_size(letter) + exact_size(state)


def test_a_payload_too_large_for_the_dead_letter_topic_is_left_out() -> None:
    headers = dict(_park(row(payload=b"x" * 5_000)).records[0].headers)
    assert (headers["bridge_dlq_size"], headers["bridge_dlq_payload"]) == ("5000", "omitted")


def test_headers_too_large_are_left_out_as_well() -> None:
    letter = _park(row(metadata=(("big", "x" * 5_000),))).records[0]
    assert exact_size(letter) <= _LIMIT
    assert "big" not in dict(letter.headers)
    assert dict(letter.headers)["ce_id"] == "order-1/1"


def test_an_event_whose_id_alone_is_too_large_cannot_be_parked() -> None:
    assert "cannot even be parked" in str(_park(row("x" * 5_000)).problem)


def test_later_events_say_what_holds_up_their_entity() -> None:
    (letter, _) = _park(row(payload=b"small")).records
    assert dict(letter.headers)["bridge_dlq_reason"] == "the first one's reason"
    assert letter.value == b"small"


def test_an_event_without_topics_is_only_noted() -> None:
    (state,) = _park(row(tags=())).records
    assert state.topic == _PARKED


@pytest.mark.parametrize(
    "event",
    [
        row("bad \ud800 id"),
        row(tags=("a", "\udfff")),
        row(metadata=(("ce_id", "pretender"), ("Content-Type", "x"), ("kept", "\ud800"))),
        row(payload=None),
    ],
)
def test_what_no_record_can_hold_is_escaped_or_left_out(event: JournalRow) -> None:
    encoded = _encoded(event)
    assert encoded.problem is not None
    letter = _records().park(encoded, _change(event.persistence_id)).records[0]
    assert letter.key == event.persistence_id.encode("utf-8", "surrogatepass")
    headers = dict(letter.headers)
    assert len(headers) == len(letter.headers), "a header is there twice"
    assert headers["ce_id"].endswith("/1")
    assert all(value.encode() is not None for value in headers.values())
    null = event.payload is None
    assert (letter.value, headers["bridge_dlq_payload"]) == (
        (b"", "null") if null else (b"{}", "whole")
    )


def test_a_release_publishes_the_row_and_ends_state_and_request_together() -> None:
    encoded = _encoded(row())
    request = ReleaseRequest("order-1", "r", None, "me", "", 0)
    released = _records().release(encoded, ParkingChange("order-1", None, True, request))
    own, state, answer = released.records
    assert own == encoded.records[0]
    assert (state.key, state.value) == (entity_key("order-1"), None)
    assert (answer.key, answer.value) == (request_key("order-1"), None)


@given(
    pid=_IDS,
    runs=st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=1, max_size=5),
    reason=_TEXT,
    discard=st.none() | _NUMBERS,
)
def test_what_is_written_is_read_back(
    pid: str, runs: list[tuple[int, int]], reason: str, discard: int | None
) -> None:
    entity = ParkedEntity(pid, tuple(runs), 5, reason, 1_700_000_000_000)
    request = ReleaseRequest(pid, "id", discard, "me", reason, 1)
    ledger = ParkedLedger()
    ledger.apply(entity_key(pid), encode_entity(entity))
    ledger.apply(request_key(pid), encode_request(request))
    ledger.apply(discarded_key(pid, 7), encode_request(request))
    assert ledger == ParkedLedger({pid: entity}, {pid: request}, {(pid, 7): request})
    for key in (entity_key(pid), request_key(pid), discarded_key(pid, 7)):
        ledger.apply(key, None)
    assert ledger == ParkedLedger()


def test_the_bytes_of_state_and_request_stay_readable() -> None:
    entity = ParkedEntity("order-1", ((3, 5), (9, 9)), 3, "too large", 1_700_000_000_000)
    request = ReleaseRequest("order-1", "r1", 3, "me", "why", 1)
    assert encode_entity(entity).hex() == _GOLDEN_ENTITY
    assert encode_request(request).hex() == _GOLDEN_REQUEST


@pytest.mark.parametrize("key", [None, b"", b"other/x", b"discarded/x/y"])
def test_a_foreign_key_needs_an_operator(key: bytes | None) -> None:
    with pytest.raises(OperatorError):
        ParkedLedger().apply(key, None)


@pytest.mark.parametrize("value", [b"", b"garbage", encode_entity(_change("x").after)[:-3]])  # type: ignore[arg-type]
def test_a_damaged_value_needs_an_operator(value: bytes) -> None:
    with pytest.raises(OperatorError):
        ParkedLedger().apply(b"entity/x", value)
