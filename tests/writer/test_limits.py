"""What is stored exactly as given, and what is refused at write, saying which event and why."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bridge.writer import Event, InvalidEventError, append
from tests.writer.journal import WriterJournal

UGLY_IDS = [
    "a/b", "Order|1|2", "|x", "x|", "Order-1", " id ", "id", "ключ", "line\nbreak", "\\", "%", "'",
    "k" * 255, "ы" * 255, "🦀" * 255, "é", "e\u0301",
]  # fmt: skip
UGLY_TAGS = [
    "User", "UserEmail", "User,Email", "%", "_", "a_b", "aXb", "orders", "Dont care", "a/b",
    "заказы", "\u0443\u0441", "yc", ".", "..", "🦀", "newline\n", '{"}', "NULL", "null",
    "\\", " ", "t" * 255,
]  # fmt: skip


def test_ids_with_separators_are_stored_exactly_and_share_nothing(journal: WriterJournal) -> None:
    with journal.engine.begin() as connection:
        for persistence_id in UGLY_IDS:
            append(
                connection, persistence_id, [Event(type="t", payload={})], expected_sequence_nr=0
            )
    assert [row.persistence_id for row in journal.rows()] == UGLY_IDS


def test_tags_are_stored_exactly_in_order_and_once(journal: WriterJournal) -> None:
    lists = [UGLY_TAGS, ["a", "b", "a"], [], [f"tag-{n}" for n in range(64)] * 2, ["a,b"]]
    events = [Event(type="t", payload={}, tags=tags) for tags in lists]
    with journal.engine.begin() as connection:
        append(connection, "x", events, expected_sequence_nr=0)
    assert [row.tags for row in journal.rows()] == [list(dict.fromkeys(tags)) for tags in lists]


CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE
INVALID: list[tuple[dict[str, Any], str, str]] = [
    ({"type": ""}, "type", "event type is empty"),
    ({"type": 5}, "type", "event type is int, not str"),
    ({"type": "t" * 256}, "type", "256 characters, at most 255"),
    ({"tags": ["ok", ""]}, "tags", "tag is empty"),
    ({"tags": ["t" * 256]}, "tags", "256 characters, at most 255"),
    ({"tags": ["a\0"]}, "tags", "NUL"),
    ({"tags": ["a\ud800"]}, "tags", "lone surrogate"),
    ({"tags": [None]}, "tags", "tag is NoneType, not str"),
    ({"tags": "orders"}, "tags", "tags is str"),
    ({"tags": [str(n) for n in range(65)]}, "tags", "65 tags, at most 64"),
    ({"payload": None}, "payload", "payload is NoneType"),
    ({"payload": [1]}, "payload", "payload is list"),
    ({"payload": {"d": Decimal("1.10")}}, "payload", "Decimal is not JSON serializable"),
    ({"payload": {"d": date(2024, 1, 1)}}, "payload", "date is not JSON serializable"),
    ({"payload": {"d": float("nan")}}, "payload", "JSON"),
    ({"payload": {"d": float("inf")}}, "payload", "JSON"),
    ({"payload": {"d": [({1: "x"},)]}}, "payload", "key of type int, not str"),
    ({"payload": CYCLE}, "payload", "Circular"),
    ({"payload": {"d": "\udfff"}}, "payload", "lone surrogate"),
    ({"payload": "\udfff"}, "payload", "lone surrogate"),
    ({"metadata": {"a b": "x"}}, "metadata", "not a header name"),
    ({"metadata": {"": "x"}}, "metadata", "metadata key is empty"),
    ({"metadata": {"ключ": "x"}}, "metadata", "not a header name"),
    ({"metadata": {"ok\n": "x"}}, "metadata", "not a header name"),
    ({"metadata": {"ce_id": "x"}}, "metadata", "reserved"),
    ({"metadata": {"Bridge_late": "x"}}, "metadata", "reserved"),
    ({"metadata": {"Content-Type": "x"}}, "metadata", "reserved"),
    ({"metadata": {"a": 1}}, "metadata", "int, not str"),
    ({"metadata": {"a": "\0"}}, "metadata", "NUL"),
    ({"metadata": ["a"]}, "metadata", "not a mapping"),
    ({"timestamp_ms": 1.5}, "timestamp_ms", "float, not int"),
    ({"timestamp_ms": True}, "timestamp_ms", "bool, not int"),
    ({"timestamp_ms": 2**63}, "timestamp_ms", "outside"),
    ({"content_type": ""}, "content_type", "content type is empty"),
    ({"content_type": "text/plain\r\nX: y"}, "content_type", "printable ASCII"),
]


@pytest.mark.parametrize(("changes", "field", "why"), INVALID)
def test_an_invalid_event_is_refused_before_anything_is_stored(
    lite_journal: WriterJournal, changes: dict[str, Any], field: str, why: str
) -> None:
    good = Event(type="Good", payload={})
    bad = Event(**{"type": "Bad", "payload": {}, **changes})
    with lite_journal.engine.begin() as connection:
        with pytest.raises(InvalidEventError, match=why) as caught:
            append(connection, "order-1", [good, bad], expected_sequence_nr=0)
        assert append(connection, "order-1", [good], expected_sequence_nr=0) == 1
    assert (caught.value.index, caught.value.field) == (1, field)
    assert "event 1 (" in caught.value.what
    assert "'order-1'" in caught.value.what


@pytest.mark.parametrize(
    ("persistence_id", "expected", "why"),
    [
        ("", 0, "persistence id is empty"),
        (None, 0, "persistence id is NoneType, not str"),
        ("k" * 256, 0, "256 characters, at most 255"),
        ("a\0b", 0, "NUL"),
        ("\ud800", 0, "lone surrogate"),
        ("x", -1, "outside"),
        ("x", 2**63, "outside"),
        ("x", 2**63 - 1, "largest sequence number"),
        ("x", "0", "str, not int"),
        ("x", True, "bool, not int"),
    ],
)
def test_an_invalid_id_or_expectation_fails_at_write(
    journal: WriterJournal, persistence_id: Any, expected: Any, why: str
) -> None:
    events = [Event(type="t", payload={})]
    with (
        journal.engine.begin() as connection,
        pytest.raises(InvalidEventError, match=why) as caught,
    ):
        append(connection, persistence_id, events, expected_sequence_nr=expected)
    assert caught.value.index is None
    assert journal.rows() == []


def test_something_else_in_the_list_is_named(journal: WriterJournal) -> None:
    with (
        journal.engine.begin() as connection,
        pytest.raises(InvalidEventError, match="event 0 of append to 'x' is dict, not Event"),
    ):
        append(connection, "x", [{"type": "t"}], expected_sequence_nr=0)  # type: ignore[list-item]
