"""What a hostile transaction will do: drawn from one random source before it begins. Pure."""

import random
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ALL_EVENTS", "Ending", "Plan", "Step", "draw_plan", "draw_tags"]

ALL_EVENTS = "all-events"
"""Tag of every event: its topic is complete."""

_TAGS = ("order", "orders", "billing", "Billing", "audit")

_PAUSES_S = ((0.0, 0.0), (0.001, 0.03), (0.03, 0.2), (0.5, 2.0))
"""Ranges of a delay; most commits are prompt, so that slow ones are overtaken."""
_PAUSE_WEIGHTS = (72, 16, 9, 3)


class Ending(StrEnum):
    """How a transaction ends."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    COMMIT_PREPARED = "commit prepared"
    ROLLBACK_PREPARED = "rollback prepared"

    @property
    def prepared(self) -> bool:
        """True for a two-phase ending."""
        return self in {Ending.COMMIT_PREPARED, Ending.ROLLBACK_PREPARED}

    @property
    def commits(self) -> bool:
        """True when the rows stay."""
        return self in {Ending.COMMIT, Ending.COMMIT_PREPARED}


@dataclass(frozen=True, slots=True)
class Step:
    """Some events of one entity, written by one call.

    Attributes:
        slot: which of the transaction's entities.
        events: how many.
        effect: the first event is the effect of one that another transaction committed.
        savepoint: written inside a savepoint.
        undone: that savepoint is rolled back, and the numbers are used again.
    """

    slot: int
    events: int
    effect: bool
    savepoint: bool
    undone: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """One transaction.

    Attributes:
        entities: how many entities it owns at most.
        early_xid: take the transaction id first; choose entities and write only after
            `pause_before_write_s`.
        pause_before_write_s: only after an early transaction id, else 0.
        pause_before_end_s: between the last write (or the PREPARE) and the end.
        asynchronous: commit without waiting for the disk.
    """

    entities: int
    steps: tuple[Step, ...]
    ending: Ending
    early_xid: bool
    pause_before_write_s: float
    pause_before_end_s: float
    asynchronous: bool


def draw_plan(rng: random.Random) -> Plan:
    """The next transaction."""
    entities = rng.randint(1, 3)
    early_xid = rng.random() < 0.25
    return Plan(
        entities=entities,
        steps=tuple(_draw_step(rng, entities) for _ in range(rng.randint(1, 5))),
        ending=rng.choices(list(Ending), weights=(80, 12, 6, 2))[0],
        early_xid=early_xid,
        pause_before_write_s=_draw_pause(rng) if early_xid else 0.0,
        pause_before_end_s=_draw_pause(rng),
        asynchronous=rng.random() < 0.2,
    )


def draw_tags(rng: random.Random) -> tuple[str, ...]:
    """Up to three tags beside the one that every event has, which stands anywhere among them."""
    tags = rng.sample(_TAGS, rng.randint(0, 3))
    tags.insert(rng.randint(0, len(tags)), ALL_EVENTS)
    return tuple(tags)


def _draw_step(rng: random.Random, entities: int) -> Step:
    savepoint = rng.random() < 0.25
    return Step(
        slot=rng.randrange(entities),
        events=rng.choice((1, 1, 2, 3, 8)),
        effect=rng.random() < 0.5,
        savepoint=savepoint,
        undone=savepoint and rng.random() < 0.4,
    )


def _draw_pause(rng: random.Random) -> float:
    return rng.uniform(*rng.choices(_PAUSES_S, weights=_PAUSE_WEIGHTS)[0])
