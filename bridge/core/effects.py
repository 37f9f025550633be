"""What the relay's machine asks for, and what it is told: effects out, outcomes in."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from bridge.core.batching import Batch, EncodedRow
from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.parking import ParkedEntity, ReleaseRequest
from bridge.core.positions import Position
from bridge.core.rows import RowKey
from bridge.errors import BridgeError

__all__ = [
    "AttachJournal",
    "Attached",
    "CheckTopics",
    "ConfirmFencing",
    "CursorRead",
    "Effect",
    "Failed",
    "IllegalOutcomeError",
    "JournalEffect",
    "OpenPublisher",
    "Opened",
    "Outcome",
    "PageRead",
    "ParkedRead",
    "Publish",
    "Published",
    "ReadCursor",
    "ReadPage",
    "ReadParked",
    "RenewWitness",
    "Stop",
    "Superseded",
    "TopicsMatch",
    "Verdict",
    "WaitUntil",
    "WitnessRenewed",
]

R = TypeVar("R")


class IllegalOutcomeError(Exception):
    """The driver reported an outcome that the machine did not ask for: a defect of the driver."""


class Verdict(Enum):
    """What must be done about a failure."""

    RETRY = "the same again, after a pause"
    NEW_PRODUCER = "drop the producer and all that was read for it, start from the cursor"
    FENCED = "find out whether another relay has taken over"
    STOP = "a human has to act"


@dataclass(frozen=True, slots=True)
class OpenPublisher:
    """Make a producer and fence all earlier ones. `batch_bytes`: most bytes of a record batch."""

    batch_bytes: int


@dataclass(frozen=True, slots=True)
class ReadCursor:
    """Read the last committed cursor and the entities that are parked."""


@dataclass(frozen=True, slots=True)
class AttachJournal:
    """Check that the journal is the one the cursor was written for, and find the position."""

    generation: int
    cursor: Cursor | None


@dataclass(frozen=True, slots=True)
class CheckTopics:
    """Compare topics with what they were at first use; without a cursor none may hold records.

    And see what operators ask for.
    """

    generation: int
    stored: tuple[TopicIdentity, ...]
    fresh: bool


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Read and encode the rows behind `position`.

    `settle` asks that the resulting position may be persisted even if there are no rows.
    """

    generation: int
    position: Position
    settle: bool


@dataclass(frozen=True, slots=True)
class ReadParked:
    """Read and encode anew the first waiting events of an entity, as many as make a page."""

    generation: int
    entity: ParkedEntity
    request: ReleaseRequest


@dataclass(frozen=True, slots=True)
class RenewWitness:
    """Write a fresh witness into the journal's database; `committed` must stay valid there."""

    generation: int
    committed: JournalIdentity


@dataclass(frozen=True, slots=True)
class Publish(Generic[R]):
    """Commit the batch's records and the cursor behind them in one transaction."""

    batch: Batch[R]
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class ConfirmFencing:
    """See whether a cursor of an owner outside `known` was committed.

    `known` holds this process and the owner of the cursor it found when it started: a producer
    fenced before its first commit must not take its predecessor for a rival.
    """

    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing to do before this time (ms, the machine's clock) or the next outcome."""

    at_ms: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The end. `error` is None after a clean finish."""

    error: BridgeError | None


JournalEffect = AttachJournal | CheckTopics | ReadPage | ReadParked | RenewWitness
"""What the journal lane carries out."""

Effect = JournalEffect | OpenPublisher | ReadCursor | Publish[R] | ConfirmFencing | WaitUntil | Stop


@dataclass(frozen=True, slots=True)
class Opened:
    """The producer is ready and alone."""


@dataclass(frozen=True, slots=True)
class CursorRead:
    """What was committed last.

    Attributes:
        cursor: None when there never was one.
        parked: the parked entities as of the same moment: only the producer that was opened before
            can change them.
    """

    cursor: Cursor | None
    parked: Sequence[ParkedEntity] = ()


@dataclass(frozen=True, slots=True)
class Attached:
    """The journal is the right one.

    Attributes:
        identity: what it is now, with the witness that cursors name from here on.
        position: where to read on.
        recent: events published last before `position`, oldest first; seeds the inversion guard.
    """

    identity: JournalIdentity
    position: Position
    recent: Sequence[RowKey]


@dataclass(frozen=True, slots=True)
class TopicsMatch:
    """All topics are what they were.

    Attributes:
        requests: releases that are asked for and not answered yet.
    """

    requests: Sequence[ReleaseRequest] = ()


@dataclass(frozen=True, slots=True)
class PageRead(Generic[R]):
    """Encoded rows of a page; see :class:`bridge.core.rows.Page`.

    Attributes:
        topics: identities of all topics of the rows.
        batch_bytes: most bytes of a record batch that all these topics take.
        read_at_ms: the reader's clock, milliseconds since 1970-01-01 UTC.
    """

    rows: Sequence[EncodedRow[R]]
    window: Position
    end: Position
    drained: bool
    topics: Sequence[TopicIdentity]
    batch_bytes: int
    read_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class ParkedRead(Generic[R]):
    """Rows of a parked entity in the order of their numbers, encoded anew.

    Attributes:
        more: True when there may be further ones behind them.
        problem: why the journal could not be read further, None if it could.
        topics, batch_bytes: as of a page.
    """

    rows: Sequence[EncodedRow[R]]
    more: bool
    problem: str | None
    topics: Sequence[TopicIdentity]
    batch_bytes: int


@dataclass(frozen=True, slots=True)
class WitnessRenewed:
    """The identity with the fresh witness, durable in the journal's database."""

    identity: JournalIdentity


@dataclass(frozen=True, slots=True)
class Published:
    """Committed: the first `steps` steps of the batch, and `cursor`."""

    steps: int
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Superseded:
    """Whether another owner's cursor was found, and whose."""

    by: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The effect did not happen (or, for a commit, is not known to have happened)."""

    verdict: Verdict
    error: BridgeError


Outcome = (
    Opened
    | CursorRead
    | Attached
    | TopicsMatch
    | PageRead[R]
    | ParkedRead[R]
    | WitnessRenewed
    | Published
    | Superseded
    | Failed
)
