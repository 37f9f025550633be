"""Waiting for a condition with a limit: the only way a test may wait."""

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["wait_until"]

_PAUSE_S = 0.01

T = TypeVar("T")


def wait_until(predicate: Callable[[], T], timeout_s: float = 10.0, what: str = "condition") -> T:
    """Call `predicate` until it returns something true; that value is the result.

    Raises:
        AssertionError: the condition did not become true in `timeout_s` seconds.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(_PAUSE_S)
