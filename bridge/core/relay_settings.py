"""What the relay's machine decides by, and what it counts."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal

from bridge.core.backoff import Backoff
from bridge.core.batching import BatchLimits
from bridge.errors import BridgeError

__all__ = ["Phase", "RelaySettings", "RelayStats"]


class Phase(Enum):
    """Where the relay is in its life."""

    OPENING = auto()
    RECALLING = auto()
    ATTACHING = auto()
    COMPARING = auto()
    CLAIMING = auto()
    RUNNING = auto()
    JUDGING = auto()
    STOPPED = auto()


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """Everything the machine decides by; times in ms of the machine's clock.

    Attributes:
        owner: id of this process among all that may run this shard.
        start_limit_ms: how long a server may be out of reach before the first success.
        witness_period_ms: age at which the witness is renewed while rows flow; it bounds what a
            restored database can hide.
        topics_period_ms: how often topic ids are compared.
        idle_commit_ms: a relay idle for this long commits a cursor, so that Kafka does not forget
            the transactional id (7 days by default) and with it the fence.
        max_heads: entities in the inversion guard.
        max_parked: entities that may be parked at a time; one more stops the relay.
    """

    app: str
    journal: str
    owner: str
    limits: BatchLimits
    poll_interval_ms: float
    on_inversion: Literal["stop", "late"] = "stop"
    on_poison: Literal["park", "stop"] = "park"
    until_caught_up: bool = False
    shard: int = 0
    shards: int = 1
    start_limit_ms: float = 30_000
    witness_period_ms: float = 5_000
    topics_period_ms: float = 3_000
    idle_commit_ms: float = 300_000
    max_heads: int = 20_000
    max_parked: int = 10_000
    retry: Backoff = field(default_factory=lambda: Backoff(100, 5_000))


@dataclass(slots=True)
class RelayStats:
    """Counts since the machine was made."""

    rows: int = 0
    transactions: int = 0
    failures: int = 0
    fenced: int = 0
    last_error: BridgeError | None = None
