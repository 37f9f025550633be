"""The judge itself: it must find each kind of fault, and nothing in a good run."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.hostile.checker import Findings, check
from tests.hostile.events import Event, EventId, Record

A1, A2, A3 = (EventId("a", n) for n in (1, 2, 3))
B1, C1 = EventId("b", 1), EventId("c", 1)


def event(event_id: EventId, *tags: str, cause: EventId | None = None) -> Event:
    """An event as a writer would have written it."""
    return Event(event_id, tags, cause, writer=0)


def record(of: Event, offset: int, tag: str = "all", partition: int = 0) -> Record:
    """The right record of an event."""
    headers = (("ce_id", str(of.id).encode()), ("ce_tags", json.dumps(of.tags).encode()))
    return Record(
        f"app.{tag}", partition, offset, of.id.persistence_id.encode(), of.payload, headers
    )


def judge(written: Sequence[Event], records: Sequence[Record]) -> dict[str, int]:
    """Kinds of faults that were found, with their number."""
    return {kind: n for kind, n in findings(written, records).counts().items() if n}


def findings(written: Sequence[Event], records: Sequence[Record]) -> Findings:
    """What the judge says."""
    return check(written, records, lambda tag: f"app.{tag}")


def test_a_good_run_has_no_findings() -> None:
    a1, a2, b1 = event(A1, "all", "red"), event(A2, "all"), event(B1, "all", "red", cause=A2)
    records = [record(e, n) for n, e in enumerate((a1, a2, b1))]
    records += [record(a1, 0, "red"), record(b1, 5, "red")]
    assert judge([b1, a2, a1], records) == {}


def test_an_event_that_is_absent_from_one_of_its_topics_is_missing() -> None:
    a1 = event(A1, "all", "red")
    assert findings([a1], [record(a1, 0)]).missing == ("a/1 in app.red",)


def test_a_second_record_is_duplicated_and_not_inverted_as_well() -> None:
    a1, a2 = event(A1, "all"), event(A2, "all")
    assert judge([a1, a2], [record(a1, 0), record(a2, 1), record(a1, 2)]) == {"duplicated": 1}


def test_a_duplicate_in_another_partition_is_found() -> None:
    a1 = event(A1, "all")
    assert judge([a1], [record(a1, 0), record(a1, 0, partition=1)]) == {"duplicated": 1}


def test_the_same_event_in_two_of_its_topics_is_no_duplicate() -> None:
    a1 = event(A1, "all", "red")
    assert judge([a1], [record(a1, 0), record(a1, 0, "red")]) == {}


def test_a_number_behind_a_higher_one_is_inverted() -> None:
    a1, a2, a3 = event(A1, "all"), event(A2, "all"), event(A3, "all")
    found = findings([a1, a2, a3], [record(a3, 0), record(a1, 1), record(a2, 2)])
    assert found.counts()["inverted"] == 2
    assert found.inverted[0] == "a/1 at app.all[0]@1: behind number 3"


def test_an_entity_in_two_partitions_is_inverted() -> None:
    a1, a2 = event(A1, "all"), event(A2, "all")
    assert judge([a1, a2], [record(a1, 0), record(a2, 0, partition=1)]) == {"inverted": 1}


def test_a_hole_between_numbers_is_no_inversion() -> None:
    a1, a2, a3 = event(A1, "all", "red"), event(A2, "all"), event(A3, "all", "red")
    records = [record(e, n) for n, e in enumerate((a1, a2, a3))]
    records += [record(a1, 0, "red"), record(a3, 1, "red")]
    assert judge([a1, a2, a3], records) == {}


def test_an_effect_before_its_cause_is_found() -> None:
    a1, b1 = event(A1, "all"), event(B1, "all", cause=A1)
    found = findings([a1, b1], [record(b1, 0), record(a1, 1)])
    assert found.effect_before_cause == ("b/1 before a/1 in app.all[0]",)


def test_an_effect_before_an_earlier_event_of_its_causes_entity_is_found() -> None:
    a1, a2 = event(A1, "red"), event(A2, "all")
    b1 = event(B1, "all", "red", cause=A2)
    records = [record(a2, 0), record(b1, 1), record(b1, 0, "red"), record(a1, 1, "red")]
    found = findings([a1, a2, b1], records)
    assert found.effect_before_cause == ("b/1 before a/1 in app.red[0]",)


def test_an_effect_before_its_causes_cause_is_found_where_the_link_between_is_absent() -> None:
    a1, b1 = event(A1, "red"), event(B1, "all", cause=A1)
    c1 = event(C1, "red", cause=B1)
    records = [record(b1, 0), record(c1, 0, "red"), record(a1, 1, "red")]
    assert judge([a1, b1, c1], records) == {"effect_before_cause": 1}


def test_partitions_are_not_ordered_against_each_other() -> None:
    a1, b1 = event(A1, "all"), event(B1, "all", cause=A1)
    assert judge([a1, b1], [record(b1, 0), record(a1, 7, partition=1)]) == {}


def test_an_independent_event_may_stand_anywhere() -> None:
    a1, b1 = event(A1, "all"), event(B1, "all")
    assert judge([a1, b1], [record(b1, 0), record(a1, 1)]) == {}


def test_a_record_of_a_rolled_back_event_is_unexpected() -> None:
    a1, gone = event(A1, "all"), event(A2, "all")
    assert judge([a1], [record(a1, 0), record(gone, 1)]) == {"unexpected": 1}


def test_a_record_in_the_topic_of_another_tag_is_unexpected() -> None:
    a1 = event(A1, "all")
    assert judge([a1], [record(a1, 0), record(a1, 0, "red")]) == {"unexpected": 1}


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b"{}", b'{"id": 7}'])
def test_a_record_that_names_no_event_is_unexpected(value: bytes | None) -> None:
    a1 = event(A1, "all")
    damaged = replace(record(a1, 1), value=value)
    assert judge([a1], [record(a1, 0), damaged]) == {"unexpected": 1}


@pytest.mark.parametrize(
    "headers",
    [
        {"ce_id": b"a/2"},
        {"ce_id": None},
        {"ce_tags": b'["red", "all"]'},
        {"ce_tags": b'["all"]'},
        {"ce_tags": b"all,red"},
        {"bridge_late": b"true"},
    ],
)
def test_headers_that_differ_from_what_was_written_are_malformed(
    headers: dict[str, bytes | None],
) -> None:
    a1 = event(A1, "all", "red")
    right = record(a1, 0)
    damaged = replace(right, headers=tuple((dict(right.headers) | headers).items()))
    assert judge([a1], [damaged, record(a1, 0, "red")]) == {"malformed": 1}


def test_a_header_that_appears_twice_is_malformed() -> None:
    a1 = event(A1, "all")
    right = record(a1, 0)
    assert judge([a1], [replace(right, headers=right.headers * 2)])["malformed"] == 1


@pytest.mark.parametrize("change", [{"key": b"b"}, {"key": None}, {"value": b'{"id": ["a", 1]}'}])
def test_a_key_or_value_that_differs_is_malformed(change: dict[str, bytes | None]) -> None:
    a1 = event(A1, "all")
    right = record(a1, 0)
    damaged = Record(
        right.topic,
        right.partition,
        right.offset,
        change.get("key", right.key),
        change.get("value", right.value),
        right.headers,
    )
    assert judge([a1], [damaged]) == {"malformed": 1}


def test_a_ground_truth_that_holds_an_event_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        check([event(A1, "all"), event(A1, "all")], [], str)
