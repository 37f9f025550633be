"""Row → records: one copy per topic, with the partition computed and the size known beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bridge.core.batching import EncodedRow
from bridge.core.murmur2 import murmur2
from bridge.core.rows import JournalRow
from bridge.envelope.headers import LATE_HEADER, Header, HeaderFactory
from bridge.envelope.naming import TopicNames

__all__ = ["OutboundRecord", "RowEncoder", "TopicFacts", "mark_late"]

_MAX_HASHES = 100_000
"""Entities whose key hash is kept: a hash costs more than the rest of the envelope."""

_BATCH_OVERHEAD = 61
"""Bytes of a record batch before its first record (Kafka message format 2)."""

_RECORD_OVERHEAD = 34
"""Most bytes of a record's own fields: length, attributes, deltas, lengths, header count."""

_HEADER_OVERHEAD = 6
"""Most bytes of a header's two lengths, for names below 64 bytes."""

_INT64_MAX = 2**63 - 1


class OutboundRecord(NamedTuple):
    """What is handed to the producer."""

    topic: str
    partition: int
    key: bytes
    value: bytes
    timestamp_ms: int
    headers: list[Header]


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What the relay must know of a topic before it sends there.

    Attributes:
        topic_id: Kafka's id of the topic; another one means it was deleted and made anew.
        max_message_bytes: the broker's limit for a record batch.
        retention_ms: -1: kept for ever.
        timestamp_before_max_ms, timestamp_after_max_ms: how far a record's time may lie from the
            broker's clock.
        append_time: the broker overwrites record times; then no limit on them applies.
    """

    name: str
    topic_id: str
    partitions: int
    max_message_bytes: int
    retention_ms: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    append_time: bool

    def refusal(self, timestamp_ms: int, now_ms: int) -> str | None:
        """Why a record of this time would be refused or lost in the topic; None if it would not."""
        if self.append_time:
            return None
        age_ms = now_ms - timestamp_ms
        if 0 <= self.retention_ms < age_ms:
            return f"its time is older than retention.ms={self.retention_ms}: it would be deleted"
        if age_ms > self.timestamp_before_max_ms:
            limit = self.timestamp_before_max_ms
            return f"its time is older than message.timestamp.before.max.ms={limit} allows"
        if -age_ms > self.timestamp_after_max_ms:
            limit = self.timestamp_after_max_ms
            return f"its time is further ahead than message.timestamp.after.max.ms={limit} allows"
        return None


class RowEncoder:
    """Encodes the rows of one journal.

    Args:
        names: tags → topics.
        source: value of ``ce_source``.
        event_time: True: the record's timestamp is the event's; False: the relay's.
    """

    def __init__(self, names: TopicNames, source: str, *, event_time: bool = True) -> None:
        self._names = names
        self._headers = HeaderFactory(source)
        self._event_time = event_time
        self._hashes: dict[str, tuple[bytes, int]] = {}

    def topics_of(self, rows: Sequence[JournalRow]) -> set[str]:
        """All topics that the rows go to."""
        return {name for tags in {row.tags for row in rows} for name in self._names.of_tags(tags)}

    def encode(
        self,
        rows: Sequence[JournalRow],
        topics: Mapping[str, TopicFacts | str],
        now_ms: int,
    ) -> list[EncodedRow[OutboundRecord]]:
        """Encode rows in order. A row that cannot be sent carries the reason in `problem`.

        Args:
            topics: facts of every topic of the rows, or why the topic cannot be used.
        """
        return [self._encode_row(row, topics, now_ms) for row in rows]

    def _encode_row(
        self, row: JournalRow, topics: Mapping[str, TopicFacts | str], now_ms: int
    ) -> EncodedRow[OutboundRecord]:
        names = self._names.of_tags(row.tags)
        if not names:
            return EncodedRow(row.persistence_id, row.sequence_nr, row.place, (), 0, (), None)
        if row.payload is None:
            return _unsendable(row, 0, "its payload is NULL, which Kafka would take as a deletion")
        try:
            key, key_hash = self._hashes.get(row.persistence_id) or self._hash(row.persistence_id)
            headers = self._headers.headers(row)
            size = _size_bound(key, row.payload, headers)
        except UnicodeEncodeError as e:
            return _unsendable(row, len(row.payload), f"it holds text that is not Unicode ({e})")
        timestamp_ms = min(max(1, row.timestamp_ms if self._event_time else now_ms), _INT64_MAX)
        records: list[OutboundRecord] = []
        partitions: list[tuple[str, int]] = []
        for name in names:
            facts = topics[name]
            if isinstance(facts, str):
                return _unsendable(row, size, facts)
            if refusal := facts.refusal(timestamp_ms, now_ms):
                return _unsendable(row, size, f"topic {name}: {refusal}")
            partition = (key_hash & 0x7FFFFFFF) % facts.partitions
            record = OutboundRecord(name, partition, key, row.payload, timestamp_ms, headers)
            limit = facts.max_message_bytes
            if size > limit and (exact := _exact_size(record)) > limit:
                return _unsendable(row, exact, f"topic {name} takes max.message.bytes={limit}")
            partitions.append((name, partition))
            records.append(record)
        return EncodedRow(
            row.persistence_id,
            row.sequence_nr,
            row.place,
            tuple(records),
            size * len(records),
            tuple(partitions),
            None,
        )

    def _hash(self, persistence_id: str) -> tuple[bytes, int]:
        if len(self._hashes) >= _MAX_HASHES:
            self._hashes.clear()
        key = persistence_id.encode()
        entry = self._hashes[persistence_id] = (key, murmur2(key))
        return entry


def mark_late(row: EncodedRow[OutboundRecord]) -> EncodedRow[OutboundRecord]:
    """The same row, its records marked as breaking the entity's order."""
    records = tuple(r._replace(headers=[*r.headers, LATE_HEADER]) for r in row.records)
    return row._replace(records=records)


def _size_bound(key: bytes, value: bytes, headers: list[Header]) -> int:
    """Upper bound of the bytes of a batch with just this record; raises UnicodeEncodeError."""
    text = "".join([name + value for name, value in headers])
    length = len(text) if text.isascii() else len(text.encode())
    overhead = _BATCH_OVERHEAD + _RECORD_OVERHEAD + _HEADER_OVERHEAD * len(headers)
    return overhead + len(key) + len(value) + length


def _exact_size(record: OutboundRecord) -> int:
    """Bytes of an uncompressed batch with just this record (Kafka message format 2)."""
    fields = [record.key, record.value]
    for name, value in record.headers:
        fields += [name.encode(), value.encode()]
    body = 3 + _varint_length(len(record.headers))
    body += sum(_varint_length(len(field)) + len(field) for field in fields)
    return _BATCH_OVERHEAD + _varint_length(body) + body


def _varint_length(number: int) -> int:
    """Bytes of a non-negative number as a zigzag varint."""
    return max(1, -(-(2 * number).bit_length() // 7))


def _unsendable(row: JournalRow, size: int, why: str) -> EncodedRow[OutboundRecord]:
    problem = f"event {row.persistence_id!r}/{row.sequence_nr} ({size} bytes) cannot be sent: {why}"
    return EncodedRow(row.persistence_id, row.sequence_nr, row.place, (), size, (), problem)
