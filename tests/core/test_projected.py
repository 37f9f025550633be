"""What a projection knows of its entities, how often it tries, how large its batches are."""

import pytest

from bridge.core.attempts import Attempts
from bridge.core.backoff import Backoff
from bridge.core.pace import TARGET_S, Pace
from bridge.core.projected import MEMORY_OFFSETS, EntityKey, Known, Seen, forgotten_below

ANNA, BERT = EntityKey("/shop", b"anna"), EntityKey("/shop", b"bert")


@pytest.mark.parametrize(
    ("events", "new"),
    [
        ([(1, False), (2, False), (3, False)], [True, True, True]),
        ([(1, False), (4, False)], [True, True]),  # gaps are normal: other tags
        ([(4, False), (4, False), (3, False)], [True, False, False]),
        ([(4, False), (2, True), (2, True), (3, True)], [True, True, False, True]),
        ([(4, False), (2, True), (2, False)], [True, True, False]),
        ([(5, True), (5, False), (6, False)], [True, False, True]),
    ],
)
def test_a_repeated_event_is_told_from_a_new_one(
    events: list[tuple[int, bool]], new: list[bool]
) -> None:
    known = Known({}, [])
    assert [known.is_new(Seen(ANNA, number, late, 0)) for number, late in events] == new


def test_what_was_stored_counts() -> None:
    known = Known({ANNA: 3}, [(ANNA, 2)])
    assert not known.is_new(Seen(ANNA, 3, False, 0))
    assert not known.is_new(Seen(ANNA, 2, True, 0))
    assert known.is_new(Seen(ANNA, 1, True, 0))
    assert known.is_new(Seen(BERT, 1, False, 0))


@pytest.mark.parametrize(
    ("start", "end", "below"),
    [
        (0, 500, None),
        (0, 50_000, None),  # nothing is old enough
        (MEMORY_OFFSETS + 19_000, MEMORY_OFFSETS + 19_500, None),  # the next sweep is not due
        (MEMORY_OFFSETS + 19_800, MEMORY_OFFSETS + 20_300, 20_300),
    ],
)
def test_entities_are_forgotten_now_and_then(start: int, end: int, below: int | None) -> None:
    assert forgotten_below(start, end) == below


def test_tries_are_counted_at_one_place() -> None:
    attempts = Attempts(3, Backoff(first_ms=10, max_ms=1_000))
    assert [attempts.failed("t", 0, 7) for _ in range(3)] == [10, 20, None]
    assert [attempts.failed("t", 0, 8), attempts.failed("t", 1, 8)] == [10, 10]


def test_batches_grow_while_they_are_quick() -> None:
    pace = Pace(max_events=6)
    sizes = []
    for _ in range(4):
        sizes.append(pace.events)
        pace.took(pace.events, TARGET_S / 10)
    assert sizes == [1, 2, 4, 6]
    pace.took(1, TARGET_S / 10)  # a small batch says nothing about large ones
    assert pace.events == 6
    pace.took(6, TARGET_S * 2)
    assert pace.events == 3
    pace.took(3, TARGET_S * 100)
    assert pace.events == 1
