"""The request to end, by SIGTERM or SIGINT."""

import signal
from collections.abc import Callable
from types import FrameType

__all__ = ["StopRequest"]


class StopRequest:
    """The request to end, which may come before there is anything to be ended."""

    def __init__(self) -> None:
        self._asked = False
        self._then: Callable[[], None] | None = None

    def listen(self) -> None:
        """Take the signals from now on; called before anything that takes time."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self)

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self._asked = True
        if self._then is not None:
            self._then()

    def pass_to(self, then: Callable[[], None]) -> None:
        """Call `then` at the request, or now if it was made already."""
        self._then = then
        if self._asked:
            then()
