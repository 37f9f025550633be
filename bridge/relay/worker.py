"""The thread of the journal lane: one effect at a time, and an end in bounded time."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

__all__ = ["LaneWorker"]

E = TypeVar("E")
O = TypeVar("O")  # noqa: E741 - outcome

PATIENCE_S = 3.0
"""How long a running effect may take to end by itself, and again once it was interrupted."""


class LaneWorker(Generic[E, O]):
    """Performs effects on a daemon thread: a database that never answers must not keep the process.

    Args:
        perform: carries out one effect.
        deliver: takes an effect and its outcome, or the exception that it raised.
        interrupt: makes a running effect fail soon.
    """

    def __init__(
        self,
        perform: Callable[[E], O],
        deliver: Callable[[E, O | BaseException], None],
        interrupt: Callable[[], None],
    ) -> None:
        self._perform = perform
        self._deliver = deliver
        self._interrupt = interrupt
        self._effects: SimpleQueue[E | None] = SimpleQueue()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="bridge-journal", daemon=True)
        self._thread.start()

    def submit(self, effect: E) -> None:
        """Perform `effect` after those that wait."""
        self._effects.put(effect)

    def end(self) -> bool:
        """Perform nothing more; True when the thread has ended and its resources may be closed."""
        self._ending = True
        self._effects.put(None)
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self._interrupt()
            self._thread.join(PATIENCE_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (effect := self._effects.get()) is not None and not self._ending:
            outcome: O | BaseException
            try:
                outcome = self._perform(effect)
            except BaseException as e:  # noqa: BLE001 - raised again by whoever takes it
                outcome = e
            self._deliver(effect, outcome)
