"""The numbers that wait of an entity."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.core.parking import ParkedEntity


def _entity(*numbers: int) -> ParkedEntity:
    first, *others = numbers
    entity = ParkedEntity("e", ((first, first),), first, "why", 0)
    for number in others:
        entity = entity.with_number(number)
    return entity


@given(st.lists(st.integers(1, 40), min_size=1))
def test_numbers_are_kept_in_order_whatever_order_they_came_in(numbers: list[int]) -> None:
    entity: ParkedEntity | None = _entity(*numbers)
    wanted = sorted(set(numbers))
    assert entity is not None
    assert [n for n in range(42) if entity.holds(n)] == wanted
    assert (entity.first, entity.last, entity.count) == (wanted[0], wanted[-1], len(wanted))
    assert all(b[0] > a[1] + 1 for a, b in zip(entity.waiting, entity.waiting[1:], strict=False))
    taken = []
    while entity is not None:
        taken.append(entity.first)
        entity = entity.without_first()
    assert taken == wanted
