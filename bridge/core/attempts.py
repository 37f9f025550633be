"""How often an event is tried before a projection stops."""

from dataclasses import dataclass

from bridge.core.backoff import Backoff

__all__ = ["Attempts"]


@dataclass(slots=True)
class Attempts:
    """Counts the failures at one place; a failure at another place starts anew.

    Attributes:
        limit: tries of one event at most.
        pause: between them.
    """

    limit: int
    pause: Backoff
    _place: tuple[str, int, int] | None = None
    _failures: int = 0

    def failed(self, topic: str, partition: int, offset: int) -> float | None:
        """Pause in ms before the next try; None when the limit is reached."""
        place = (topic, partition, offset)
        self._failures = self._failures + 1 if place == self._place else 1
        self._place = place
        return None if self._failures >= self.limit else self.pause.delay_ms(self._failures)
