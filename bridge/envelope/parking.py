"""Records of parked entities: dead letters, the state behind them, and what a release leaves."""

from collections.abc import Iterator, Mapping, Sequence

from bridge.core.batching import EncodedRow
from bridge.core.cursor import TopicIdentity
from bridge.core.murmur2 import partition_of
from bridge.core.parking import ParkingChange
from bridge.core.rows import JournalRow
from bridge.envelope.headers import Header, HeaderFactory, foreign_metadata
from bridge.envelope.parked_codec import (
    discarded_key,
    encode_entity,
    encode_request,
    entity_key,
    persistence_id_bytes,
    request_key,
    sendable,
)
from bridge.envelope.records import OutboundRecord, TopicFacts, exact_size, mark_late

__all__ = ["PAYLOAD_HEADER", "REASON_HEADER", "SIZE_HEADER", "ParkingRecords"]

REASON_HEADER = "bridge_dlq_reason"
"""Why the event, or the first one of its entity that waits, cannot be sent."""

SIZE_HEADER = "bridge_dlq_size"
"""Bytes of the payload in the journal."""

PAYLOAD_HEADER = "bridge_dlq_payload"
"""``whole``; ``null``: the journal holds NULL; ``omitted``: the dead-letter topic cannot take it.

The journal keeps the event in each case: a release reads it there.
"""

_NOW = 0
"""A timestamp that the client replaces by its clock: the event's own may be what is wrong."""

Row = EncodedRow[OutboundRecord]


class ParkingRecords:
    """Makes the records of one journal; see :class:`bridge.core.lot.RowMarker`.

    Args:
        source: value of ``ce_source``.
        dead_letters: the dead-letter topic.
        parked: the compacted topic of the state, and the journal's partition of it.
    """

    def __init__(
        self, source: str, dead_letters: TopicFacts, parked: TopicFacts, partition: int
    ) -> None:
        self._headers = HeaderFactory(source)
        self._dead_letters = dead_letters
        self._parked = parked
        self._partition = partition

    @property
    def batch_bytes(self) -> int:
        """Most bytes of a record batch that both topics take."""
        return min(self._dead_letters.max_message_bytes, self._parked.max_message_bytes)

    def learn(self, found: Mapping[str, TopicFacts]) -> None:
        """Take the topics' facts anew: their limits may have changed."""
        self._dead_letters = found.get(self._dead_letters.name, self._dead_letters)
        self._parked = found.get(self._parked.name, self._parked)

    def topics(self) -> Sequence[TopicIdentity]:
        """See the protocol."""
        return [
            TopicIdentity(topic.name, topic.topic_id, topic.partitions)
            for topic in (self._dead_letters, self._parked)
        ]

    def mark_late(self, row: Row) -> Row:
        """See the protocol."""
        return mark_late(row)

    def park(self, row: Row, change: ParkingChange) -> Row:
        """See the protocol."""
        letters: tuple[OutboundRecord, ...] = ()
        if (row.records or row.problem) and row.source is not None and change.after is not None:
            letter = self._letter(row.source, row.problem or change.after.reason)
            if letter is None:
                return row._replace(problem=_too_long(row, self._dead_letters))
            letters = (letter,)
        state = tuple(self._state(change))
        if any(exact_size(record) > self._parked.max_message_bytes for record in state):
            return row._replace(problem=_too_long(row, self._parked))
        return _with_records(row, (*letters, *state))

    def release(self, row: Row | None, change: ParkingChange) -> Row:
        """See the protocol."""
        if row is None:
            row = EncodedRow(change.persistence_id, 0, (), (), 0, (), None)
        return _with_records(row, (*row.records, *self._state(change)))

    def _state(self, change: ParkingChange) -> Iterator[OutboundRecord]:
        pid, after = change.persistence_id, change.after
        yield self._entry(entity_key(pid), None if after is None else encode_entity(after))
        if change.discarded is not None:
            number, request = change.discarded
            yield self._entry(discarded_key(pid, number), encode_request(request))
        if change.answered is not None:
            yield self._entry(request_key(pid), None)

    def _entry(self, key: bytes, value: bytes | None) -> OutboundRecord:
        return OutboundRecord(self._parked.name, self._partition, key, value, _NOW, [])

    def _letter(self, row: JournalRow, reason: str) -> OutboundRecord | None:
        """The event as a dead letter; without its payload, and further headers, if it must be."""
        topic = self._dead_letters
        key = persistence_id_bytes(row.persistence_id)
        partition = partition_of(key, topic.partitions)
        size = len(row.payload or b"")
        payload = row.payload or b""
        whole = "null" if row.payload is None else "whole"
        readable = _readable(row)
        bare = readable._replace(tags=(), event_type=None, content_type=None, metadata=())
        for event, value, how in (
            (readable, payload, whole),
            (readable, b"", whole if not payload else "omitted"),
            (bare, b"", whole if not payload else "omitted"),
        ):
            _, _, headers, _ = self._headers.envelope(event)
            about = [
                (REASON_HEADER, sendable(reason)),
                (SIZE_HEADER, str(size)),
                (PAYLOAD_HEADER, how),
            ]
            letter = OutboundRecord(topic.name, partition, key, value, _NOW, [*headers, *about])
            if exact_size(letter) <= topic.max_message_bytes:
                return letter
        return None


def _with_records(row: Row, records: tuple[OutboundRecord, ...]) -> Row:
    return row._replace(
        records=records,
        size=sum(exact_size(record) for record in records),
        partitions=tuple((record.topic, record.partition) for record in records),
        problem=None,
    )


def _too_long(row: Row, topic: TopicFacts) -> str:
    return (
        f"event {row.persistence_id!r}/{row.sequence_nr} cannot even be parked: topic {topic.name} "
        f"takes max.message.bytes={topic.max_message_bytes}, less than the event without payload"
    )


def _readable(row: JournalRow) -> JournalRow:
    """The row with headers that can be sent: no text but Unicode, nothing that poses as ours."""
    kept: list[Header] = [(_text(n), _text(v)) for n, v in foreign_metadata(row.metadata)]
    return row._replace(
        persistence_id=_text(row.persistence_id),
        tags=tuple(_text(tag) for tag in row.tags),
        event_type=row.event_type and _text(row.event_type),
        content_type=row.content_type and _text(row.content_type),
        metadata=tuple(kept),
    )


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
