"""How many events go into one batch, so that a batch takes neither long nor too often."""

__all__ = ["Pace"]

TARGET_S = 0.5
"""A batch that takes longer makes the next ones smaller: a partition that moves to another worker
waits for the batch in flight, and what a batch has done is lost if it does not."""


class Pace:
    """Begins with one event and doubles while batches are quick."""

    def __init__(self, max_events: int) -> None:
        self._max_events = max_events
        self.events = 1

    def took(self, events: int, seconds: float) -> None:
        """Learn from a batch."""
        if seconds > TARGET_S:
            self.events = max(1, min(self.events, int(events * TARGET_S / seconds)))
        elif events >= self.events:
            self.events = min(self._max_events, self.events * 2)
