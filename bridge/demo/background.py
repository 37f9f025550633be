"""A thread whose failure is raised where it is waited for."""

import threading
from collections.abc import Callable

__all__ = ["Background"]


class Background:
    """Runs a function on a thread of its own.

    Args:
        name: of the thread.
        target: what to run.
        failed: called, on the thread, when `target` has raised.
    """

    def __init__(
        self, name: str, target: Callable[[], None], failed: Callable[[], object] = lambda: None
    ) -> None:
        self._target = target
        self._failed = failed
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"demo-{name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    def check(self) -> None:
        """Raise what `target` has raised."""
        if self._error is not None:
            raise self._error

    def join(self, limit_s: float | None = None) -> bool:
        """Wait for its end; False when it did not come in time. Raises nothing of `target`."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._target()
        except BaseException as e:  # noqa: BLE001 - raised again by `check`
            self._error = e
            self._failed()
