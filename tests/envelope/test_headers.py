"""CloudEvents headers of a row, ugly tags, ids and times included."""

import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.core.rows import JournalRow
from bridge.envelope.headers import Header, HeaderFactory
from tests.envelope.rows import row

_INT64 = st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=30)
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # years 1 and 9999


def _pairs(factory: HeaderFactory, event: JournalRow) -> list[Header]:
    _, _, headers, _ = factory.envelope(event)
    return headers


def _headers(event: JournalRow) -> dict[str, str]:
    pairs = _pairs(HeaderFactory("/shop/orders"), event)
    assert len({name for name, _ in pairs}) == len(pairs), "a name twice"
    return dict(pairs)


def test_a_full_row_has_all_headers_in_order() -> None:
    event = row(
        "order-1",
        42,
        tags=("a", "b"),
        event_type="OrderPlaced",
        content_type="application/json",
        metadata=(("traceparent", "00-1-2-01"), ("tracestate", "x=y")),
    )
    assert _pairs(HeaderFactory("/shop/orders"), event) == [
        ("ce_specversion", "1.0"),
        ("ce_id", "order-1/42"),
        ("ce_source", "/shop/orders"),
        ("ce_type", "OrderPlaced"),
        ("ce_subject", "order-1"),
        ("ce_time", "2023-11-14T22:13:20.123Z"),
        ("ce_sequence", "00000000000000000042"),
        ("ce_partitionkey", "order-1"),
        ("ce_tags", '["a", "b"]'),
        ("content-type", "application/json"),
        ("traceparent", "00-1-2-01"),
        ("tracestate", "x=y"),
    ]


def test_a_bare_row_still_has_every_required_attribute() -> None:
    found = _headers(row(tags=(), event_type=None, content_type=None))
    assert found["ce_type"] == "bridge.event"
    assert found["ce_tags"] == "[]"
    assert "content-type" not in found


@pytest.mark.parametrize(
    "persistence_id",
    ["a/b", "Order|1|2", "|x", "x|", "Order-1", " id ", "ключ", "i" * 255, "i" * 256, "a\nb"],
)
def test_ids_are_carried_exactly(persistence_id: str) -> None:
    found = _headers(row(persistence_id, 7))
    assert found["ce_subject"] == found["ce_partitionkey"] == persistence_id
    assert found["ce_id"] == f"{persistence_id}/7"


@given(one=st.tuples(_TEXT, st.integers(1, 99)), other=st.tuples(_TEXT, st.integers(1, 99)))
def test_different_events_have_different_ids(one: tuple[str, int], other: tuple[str, int]) -> None:
    assert (_headers(row(*one))["ce_id"] == _headers(row(*other))["ce_id"]) == (one == other)


@given(tags=st.lists(_TEXT, max_size=5).map(tuple))
def test_all_tags_read_back_from_their_header(tags: tuple[str, ...]) -> None:
    assert json.loads(_headers(row(tags=tags))["ce_tags"]) == list(tags)


@given(timestamp_ms=st.integers(_FIRST_MS, _LAST_MS))
def test_the_time_reads_back_to_the_millisecond(timestamp_ms: int) -> None:
    text = _headers(row(timestamp_ms=timestamp_ms))["ce_time"]
    moment = datetime.fromisoformat(text)
    since = moment - datetime.fromisoformat("1970-01-01T00:00:00.000Z")
    assert since // timedelta(milliseconds=1) == timestamp_ms
    assert text.endswith("Z")


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (_FIRST_MS, "0001-01-01T00:00:00.000Z"),
        (_LAST_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_known_times(timestamp_ms: int, text: str) -> None:
    assert _headers(row(timestamp_ms=timestamp_ms))["ce_time"] == text


@pytest.mark.parametrize("timestamp_ms", [_FIRST_MS - 1, _LAST_MS + 1, -(2**63), 2**63 - 1])
def test_a_time_beyond_four_digit_years_is_not_lost(timestamp_ms: int) -> None:
    found = _headers(row(timestamp_ms=timestamp_ms))
    assert "ce_time" not in found
    assert found["bridge_timestamp_ms"] == str(timestamp_ms)


@given(sequence_nr=st.integers(1, 2**63 - 1), following=st.integers(1, 2**63 - 1))
def test_sequences_sort_as_text_as_they_do_as_numbers(sequence_nr: int, following: int) -> None:
    a, b = (_headers(row("e", n))["ce_sequence"] for n in (sequence_nr, following))
    assert len(a) == len(b) == 20
    assert (a < b) == (sequence_nr < following)


@given(timestamp_ms=_INT64)
def test_one_factory_gives_what_a_fresh_one_gives(timestamp_ms: int) -> None:
    event = row(timestamp_ms=timestamp_ms, tags=("a", str(timestamp_ms % 7)))
    assert _pairs(_SHARED, event) == _pairs(HeaderFactory("/shop/orders"), event)


_SHARED = HeaderFactory("/shop/orders")


def test_tags_ids_and_days_without_end_are_all_right() -> None:
    factory = HeaderFactory("s")
    for day in range(10_050):
        event = row(str(day), tags=(str(day),), timestamp_ms=day * 86_400_000)
        assert ("ce_tags", f'["{day}"]') in _pairs(factory, event)
    assert ("ce_time", "1970-01-01T00:00:00.000Z") in _pairs(factory, row(timestamp_ms=0))
