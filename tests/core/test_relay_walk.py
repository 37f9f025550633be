"""Random walks of the relay's machine through failures, lost answers and crashes."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.relay_world import World

_STEPS = 400
_STEPS_TO_FINISH = 20_000


def _walk(rng: Random, trouble: float, steps: int, poison: float = 0.0) -> World:
    world = World(rng, trouble, poison)
    for _ in range(steps):
        assert world.step() is None
    world.heal()
    for _ in range(_STEPS_TO_FINISH):
        if (end := world.step()) is not None:
            assert end.error is None
            return world
    raise AssertionError("not finished without any trouble")


@given(
    seed=st.integers(0, 2**32),
    trouble=st.sampled_from([0.01, 0.05, 0.1, 0.3]),
    steps=st.integers(0, _STEPS),
)
def test_each_event_is_published_exactly_once_and_in_order(
    seed: int, trouble: float, steps: int
) -> None:
    world = _walk(Random(seed), trouble, steps)
    assert world.broker.published == world.journal.events(len(world.journal.rows))


@pytest.mark.parametrize("seed", range(10))
def test_a_long_walk_meets_everything_that_it_is_meant_to(seed: int) -> None:
    world = _walk(Random(seed), 0.03, 3_000)
    events = world.journal.events(len(world.journal.rows))
    assert world.broker.published == events
    assert 0 < len(events) < len(world.journal.rows), "no event became visible twice"
    assert world.journal.witnesses_written > 0
    assert world.broker.opened_with < 1_000


@given(
    seed=st.integers(0, 2**32),
    trouble=st.sampled_from([0.01, 0.05, 0.1, 0.3]),
    poison=st.sampled_from([0.02, 0.1, 0.3]),
    steps=st.integers(0, _STEPS),
)
def test_parked_events_wait_in_order_and_are_released_exactly_once(
    seed: int, trouble: float, poison: float, steps: int
) -> None:
    world = _walk(Random(seed), trouble, steps, poison)
    assert world.broker.parked == {}
    assert world.broker.requests == {}


@pytest.mark.parametrize("seed", range(5))
def test_a_long_walk_with_poison_parks_releases_and_discards(seed: int) -> None:
    world = _walk(Random(seed), 0.03, 2_000, 0.05)
    broker = world.broker
    assert broker.parked == {}
    assert len(broker.letters) > 20, "little was parked"
    assert broker.answers > 5
    assert broker.discarded
    assert broker.refused > 0, "nothing was still poisonous when it was to be released"
