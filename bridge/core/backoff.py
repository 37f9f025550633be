"""Growing pauses between tries, and between polls of a quiet journal."""

from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubling delay from `first_ms` up to `max_ms`."""

    first_ms: float
    max_ms: float

    def delay_ms(self, failures: int) -> float:
        """Pause before the next try after `failures` (≥ 1) tries without success."""
        # The exponent is capped only so that a long quiet time cannot overflow a float.
        return min(self.max_ms, self.first_ms * 2.0 ** min(failures - 1, 60))
