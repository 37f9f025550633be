"""Who owns which entity, and what was committed: the ground truth of the run."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.hostile.events import Event

__all__ = ["Ledger"]

_HOT = 6
_COLD = 40
_HOT_WEIGHT = 8


class Ledger:
    """Entities owned by one writer at a time, their heads, and every committed event.

    A few entities are hot: most writers want them, and get them in turn.

    Attributes:
        done: how often each kind of hostility happened.
    """

    def __init__(self, goal: int) -> None:
        self._goal = goal
        self._lock = threading.Lock()
        self._heads = {f"hot-{n}": 0 for n in range(_HOT)} | {f"cold-{n}": 0 for n in range(_COLD)}
        self._owned: set[str] = set()
        self._committed: list[Event] = []
        self.done: Counter[str] = Counter()

    @property
    def committed(self) -> int:
        """Number of committed events."""
        return len(self._committed)

    @property
    def full(self) -> bool:
        """True when as many events as wanted are committed."""
        return self.committed >= self._goal

    def events(self) -> list[Event]:
        """All committed events, roughly in commit order."""
        with self._lock:
            return list(self._committed)

    @contextmanager
    def claim(self, rng: random.Random, count: int) -> Iterator[dict[str, int]]:
        """Own up to `count` entities that nobody owns; gives their heads, at least one entity."""
        with self._lock:
            chosen = self._choose(rng, count)
            self._owned |= chosen.keys()
        try:
            yield chosen
        finally:
            with self._lock:
                self._owned -= chosen.keys()

    def commit(self, events: Sequence[Event]) -> None:
        """Events whose commit has returned; called by their entities' owner."""
        with self._lock:
            self._committed += events
            for event in events:
                self._heads[event.id.persistence_id] = event.id.sequence_nr

    def note(self, *kinds: str) -> None:
        """Count hostilities."""
        with self._lock:
            self.done.update(kinds)

    def somebody_elses(self, rng: random.Random, own: dict[str, int]) -> str:
        """An entity, hot more often than not, that the caller does not own."""
        return self._pick(rng, [entity for entity in self._heads if entity not in own])

    def _choose(self, rng: random.Random, count: int) -> dict[str, int]:
        free = [entity for entity in self._heads if entity not in self._owned]
        chosen = {self._pick(rng, free) for _ in range(count)}
        return {entity: self._heads[entity] for entity in sorted(chosen)}

    @staticmethod
    def _pick(rng: random.Random, entities: Sequence[str]) -> str:
        weights = [_HOT_WEIGHT if entity.startswith("hot-") else 1 for entity in entities]
        return rng.choices(entities, weights=weights)[0]
