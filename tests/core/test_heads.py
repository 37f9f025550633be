"""The inversion guard against a memory of every number seen."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from bridge.core.heads import MAX_HOLES, Heads, Sighting

_ENTITIES = st.sampled_from([f"e{i}" for i in range(8)])
_NUMBERS = st.one_of(st.integers(1, 12), st.integers(1, 4 * MAX_HOLES))
_SIGHTINGS = st.lists(st.tuples(_ENTITIES, _NUMBERS), max_size=150)


@given(sightings=_SIGHTINGS, max_entities=st.integers(1, 8))
def test_verdicts_agree_with_all_numbers_seen_since_the_entity_was_last_forgotten(
    sightings: list[tuple[str, int]], max_entities: int
) -> None:
    heads, seen = Heads(max_entities), dict[str, set[int]]()
    recent: OrderedDict[str, None] = OrderedDict()
    for entity, number in sightings:
        head = heads.head(entity)
        assert head is not None or entity not in recent, "one of the last used was forgotten"
        numbers = set() if head is None else seen[entity]
        verdict = heads.observe(entity, number)
        assert (verdict is Sighting.NEXT) == (head is None or number > head)
        if verdict is Sighting.DUPLICATE:
            assert number in numbers
        if verdict is Sighting.INVERTED:
            assert number not in numbers
            assert number < max(numbers)
        seen[entity] = numbers | {number}
        recent[entity] = None
        recent.move_to_end(entity)
        while len(recent) > max_entities:
            recent.popitem(last=False)


@given(numbers=st.lists(st.integers(1, MAX_HOLES), min_size=1, max_size=100))
def test_verdicts_are_exact_where_the_memory_reaches(numbers: list[int]) -> None:
    heads, seen = Heads(1), {0}
    heads.observe("e", 0)
    for number in numbers:
        expected = (
            Sighting.DUPLICATE
            if number in seen
            else Sighting.NEXT
            if number > max(seen)
            else Sighting.INVERTED
        )
        assert heads.observe("e", number) is expected
        seen.add(number)


@given(entities=st.lists(st.integers(0, 500), max_size=300), max_entities=st.integers(1, 20))
def test_memory_is_bounded_by_twice_the_entities(entities: list[int], max_entities: int) -> None:
    heads = Heads(max_entities)
    for entity in entities:
        heads.observe(str(entity), 1)
    known = [entity for entity in set(entities) if heads.head(str(entity)) is not None]
    assert min(len(set(entities)), max_entities) <= len(known) <= 2 * max_entities


def test_what_lies_below_too_many_holes_is_unknown_not_a_duplicate() -> None:
    heads = Heads(1)
    heads.observe("e", 1)
    heads.observe("e", MAX_HOLES + 3)
    assert heads.observe("e", 1) is Sighting.UNKNOWN
    assert heads.observe("e", MAX_HOLES + 2) is Sighting.UNKNOWN
    assert heads.observe("e", MAX_HOLES + 3) is Sighting.DUPLICATE


def test_an_inversion_is_one_only_once() -> None:
    heads = Heads(1)
    verdicts = [heads.observe("e", number) for number in (5, 7, 6, 6, 8)]
    expected = [Sighting.NEXT, Sighting.NEXT, Sighting.INVERTED, Sighting.DUPLICATE, Sighting.NEXT]
    assert verdicts == expected


def test_nothing_is_known_after_clearing() -> None:
    heads = Heads(1)
    heads.observe("e", 5)
    heads.observe("f", 5)
    heads.clear()
    assert (heads.head("e"), heads.head("f")) == (None, None)
    assert heads.observe("e", 3) is Sighting.NEXT
