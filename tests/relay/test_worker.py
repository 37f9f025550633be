"""The journal lane's thread: effects in order, and an end whatever the database does."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from bridge.relay import worker as module
from bridge.relay.worker import LaneWorker

Outcomes = SimpleQueue[tuple[int, int | BaseException]]


def _worker(
    perform: Callable[[int], int], interrupt: Callable[[], None]
) -> tuple[LaneWorker[int, int], Outcomes]:
    outcomes: Outcomes = SimpleQueue()

    def deliver(effect: int, outcome: int | BaseException) -> None:
        outcomes.put((effect, outcome))

    return LaneWorker(perform, deliver, interrupt), outcomes


def test_outcomes_come_in_the_order_of_the_effects() -> None:
    worker, outcomes = _worker(lambda effect: effect * 2, lambda: None)
    for effect in (1, 2, 3):
        worker.submit(effect)
    assert [outcomes.get(timeout=5) for _ in range(3)] == [(1, 2), (2, 4), (3, 6)]
    assert worker.end()


def test_an_exception_is_delivered_and_the_thread_goes_on() -> None:
    worker, outcomes = _worker(lambda effect: 6 // effect, lambda: None)
    worker.submit(0)
    worker.submit(2)
    effect, outcome = outcomes.get(timeout=5)
    assert effect == 0
    assert isinstance(outcome, ZeroDivisionError)
    assert outcomes.get(timeout=5) == (2, 3)
    assert worker.end()


@pytest.mark.parametrize("heeds", [True, False], ids=["interrupted", "deaf"])
def test_a_call_that_does_not_return_is_interrupted_or_left(
    heeds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    began, released = threading.Event(), threading.Event()

    def hang(effect: int) -> int:
        began.set()
        released.wait()
        return effect

    worker, _ = _worker(hang, released.set if heeds else lambda: None)
    worker.submit(1)
    assert began.wait(5)
    assert worker.end() is heeds
    released.set()
