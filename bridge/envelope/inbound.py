"""Record → event, as a projection's handler gets it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from bridge.envelope.headers import LATE_HEADER

__all__ = ["Event", "InboundRecord", "MalformedRecordError", "decode"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_OWN_PREFIXES = ("ce_", "bridge_")
_REQUIRED = ("ce_source", "ce_type", "ce_tags", "ce_sequence")


class MalformedRecordError(ValueError):
    """A record that no relay has made: a header is missing or means nothing."""


class InboundRecord(NamedTuple):
    """A record as it was consumed.

    Attributes:
        headers: in record order; a value may be None.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a journal, and where its record is.

    Attributes:
        persistence_id: the entity.
        sequence_nr: number of the event within the entity.
        payload: bytes as stored in the journal.
        type: type or manifest of the event.
        content_type: media type of the payload, None if the journal knows none.
        tags: all tags of the event, also those that the projection does not read.
        timestamp_ms: the event's own time, milliseconds since 1970-01-01 UTC.
        metadata: further string pairs stored with the event.
        journal: name of the journal in the configuration.
        source: the journal's `source`, as other consumers see it in ``ce_source``.
        late: it breaks the order of its entity; see the delivery guarantees.
        topic, partition, offset: its record.
    """

    persistence_id: str
    sequence_nr: int
    payload: bytes = field(repr=False)
    type: str
    content_type: str | None
    tags: tuple[str, ...]
    timestamp_ms: int
    metadata: Mapping[str, str] = field(repr=False)
    journal: str
    source: str
    late: bool
    topic: str
    partition: int
    offset: int

    def json(self) -> Any:
        """The payload as JSON; raises ValueError when it is none."""
        return json.loads(self.payload)

    @property
    def time(self) -> datetime | None:
        """The event's own time in UTC; None outside the years 1 to 9999."""
        try:
            return _EPOCH + self.timestamp_ms * _MS
        except OverflowError:
            return None


def decode(record: InboundRecord, journal: str) -> Event:
    """The event of a record; raises MalformedRecordError, whose text holds no payload."""
    if record.key is None or record.value is None:
        raise MalformedRecordError("it has no key or no value")
    try:
        headers = {name: (value or b"").decode() for name, value in record.headers}
        missing = [name for name in _REQUIRED if name not in headers]
        if missing:
            raise MalformedRecordError(f"it has no header {missing[0]}")
        return Event(
            persistence_id=record.key.decode(),
            sequence_nr=int(headers["ce_sequence"]),
            payload=record.value,
            type=headers["ce_type"],
            content_type=headers.get("content-type"),
            tags=_tags(headers["ce_tags"]),
            timestamp_ms=_timestamp_ms(headers),
            metadata=_metadata(headers),
            journal=journal,
            source=headers["ce_source"],
            late=LATE_HEADER[0] in headers,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
        )
    except UnicodeDecodeError as e:
        raise MalformedRecordError("its key or a header is not UTF-8") from e
    except (KeyError, ValueError) as e:
        if isinstance(e, MalformedRecordError):
            raise
        raise MalformedRecordError("ce_sequence, ce_time or ce_tags means nothing") from e


def _tags(text: str) -> tuple[str, ...]:
    tags = json.loads(text)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise MalformedRecordError("ce_tags is no JSON array of texts")
    return tuple(tags)


def _timestamp_ms(headers: Mapping[str, str]) -> int:
    """From ``ce_time``, or from its substitute for years that it cannot express."""
    text = headers.get("ce_time")
    if text is None:
        return int(headers["bridge_timestamp_ms"])
    return (datetime.fromisoformat(text) - _EPOCH) // _MS


def _metadata(headers: Mapping[str, str]) -> Mapping[str, str]:
    foreign = {
        name: value
        for name, value in headers.items()
        if name != "content-type" and not name.startswith(_OWN_PREFIXES)
    }
    return MappingProxyType(foreign)
