"""The two ends of the run: an event as it was written, a record as it was consumed."""

import json
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Event", "EventId", "Record"]


class EventId(NamedTuple):
    """Identity of an event."""

    persistence_id: str
    sequence_nr: int

    def __str__(self) -> str:
        return f"{self.persistence_id}/{self.sequence_nr}"


@dataclass(frozen=True, slots=True)
class Event:
    """An event as a writer wrote it.

    Attributes:
        id: its identity; sequence numbers are contiguous from 1 in each entity.
        tags: its tags in stored order, each one once.
        cause: an event of another entity that its writer had seen committed, or None.
        writer: number of the thread that wrote it, or of the attempt to write it.
        padding: characters that make the payload longer.
    """

    id: EventId
    tags: tuple[str, ...]
    cause: EventId | None
    writer: int
    padding: int = 0

    @property
    def payload(self) -> bytes:
        """JSON that names the event and its cause, so that a record explains itself."""
        body = {"id": self.id, "cause": self.cause, "writer": self.writer}
        filler = {"padding": "x" * self.padding} if self.padding else {}
        return json.dumps(body | filler).encode()


@dataclass(frozen=True, slots=True)
class Record:
    """A record as a `read_committed` consumer got it; headers in record order."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
