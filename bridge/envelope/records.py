"""Row → records: one copy per topic, with the partition computed and the size known beforehand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from bridge.core.batching import EncodedRow
from bridge.core.rows import JournalRow
from bridge.envelope.headers import (
    HEADER_FRAME,
    LATE_HEADER,
    Header,
    HeaderFactory,
    ReservedHeaderError,
)
from bridge.envelope.naming import TopicNames

__all__ = ["OutboundRecord", "RowEncoder", "TopicFacts", "exact_size", "mark_late"]

_BATCH_OVERHEAD = 61
"""Bytes of a record batch before its first record (Kafka message format 2)."""

_OVERHEAD = _BATCH_OVERHEAD + 34
"""With the most bytes of a record's own fields: lengths, attributes, deltas, header count."""

_LATE_SIZE = sum(len(part) for part in LATE_HEADER) + HEADER_FRAME

_INT64_MAX = 2**63 - 1


class OutboundRecord(NamedTuple):
    """What is handed to the producer."""

    topic: str
    partition: int
    key: bytes
    value: bytes | None
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

    @property
    def limits_time(self) -> bool:
        """Whether `refusal` can ever give a reason."""
        unlimited = min(self.timestamp_before_max_ms, self.timestamp_after_max_ms) >= _INT64_MAX
        return not self.append_time and (self.retention_ms >= 0 or not unlimited)

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


# Millions of these are made: a named tuple's own constructor is a Python function, twice as slow.
_record: Callable[[tuple[object, ...]], OutboundRecord] = partial(tuple.__new__, OutboundRecord)
_row: Callable[[tuple[object, ...]], EncodedRow[OutboundRecord]] = partial(
    tuple.__new__, EncodedRow
)


class _Target(NamedTuple):
    """A topic of a row, prepared for many rows.

    Attributes:
        partitions: (topic, partition) of each partition, made once.
        limits_time: whether the topic may refuse a record for its time.
    """

    facts: TopicFacts
    partitions: tuple[tuple[str, int], ...]
    limits_time: bool


_Targets = tuple[_Target, ...] | str


class RowEncoder:
    """Encodes the rows of one journal.

    Args:
        names: tags → topics.
        source: value of ``ce_source``.
        late: room is kept for the header that marks late records, which comes after the check.
    """

    def __init__(self, names: TopicNames, source: str, *, late: bool = False) -> None:
        self._names = names
        self._headers = HeaderFactory(source)
        self._reserved = _LATE_SIZE if late else 0

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
        prepared = {tags: self._targets(tags, topics) for tags in {row.tags for row in rows}}
        return [self._encode_row(row, prepared[row.tags], now_ms) for row in rows]

    def _targets(self, tags: tuple[str, ...], topics: Mapping[str, TopicFacts | str]) -> _Targets:
        """The topics of these tags, or why one of them cannot be used."""
        targets = []
        for name in self._names.of_tags(tags):
            facts = topics[name]
            if isinstance(facts, str):
                return facts
            pairs = tuple((name, p) for p in range(facts.partitions))
            targets.append(_Target(facts, pairs, facts.limits_time))
        return tuple(targets)

    def _encode_row(
        self, row: JournalRow, targets: _Targets, now_ms: int
    ) -> EncodedRow[OutboundRecord]:
        payload = row.payload
        if not targets:
            return EncodedRow(row.persistence_id, row.sequence_nr, row.place, (), 0, (), None, row)
        if payload is None:
            return _unsendable(row, 0, "its payload is NULL, which Kafka would take as a deletion")
        try:
            key, key_hash, headers, headers_size = self._headers.envelope(row)
        except UnicodeEncodeError as e:
            return _unsendable(row, len(payload), f"it holds text that is not Unicode ({e})")
        except ReservedHeaderError as e:
            return _unsendable(row, len(payload), f"its metadata has the reserved name {e}")
        size = _OVERHEAD + len(key) + len(payload) + headers_size
        if isinstance(targets, str):
            return _unsendable(row, size, targets)
        timestamp_ms = row.timestamp_ms
        if not 0 < timestamp_ms <= _INT64_MAX:  # 0 would be replaced by now, Java refuses less
            timestamp_ms = 1 if timestamp_ms <= 0 else _INT64_MAX
        records: tuple[OutboundRecord, ...] = ()
        partitions: tuple[tuple[str, int], ...] = ()
        for facts, pairs, limits_time in targets:
            pair = pairs[key_hash % len(pairs)]
            record = _record((*pair, key, payload, timestamp_ms, headers))
            limit = facts.max_message_bytes - self._reserved
            if size > limit and (exact := exact_size(record)) > limit:
                return _unsendable(
                    row, exact, f"topic {pair[0]} takes max.message.bytes={facts.max_message_bytes}"
                )
            if limits_time and (refusal := facts.refusal(timestamp_ms, now_ms)):
                return _unsendable(row, size, f"topic {pair[0]}: {refusal}")
            records += (record,)
            partitions += (pair,)
        size *= len(records)
        persistence_id, sequence_nr, _, _, _, _, _, _, place = row
        return _row((persistence_id, sequence_nr, place, records, size, partitions, None, row))


def mark_late(row: EncodedRow[OutboundRecord]) -> EncodedRow[OutboundRecord]:
    """The same row, its records marked as breaking the entity's order."""
    records = tuple(r._replace(headers=[*r.headers, LATE_HEADER]) for r in row.records)
    return row._replace(records=records)


def exact_size(record: OutboundRecord) -> int:
    """Bytes of an uncompressed batch with just this record (Kafka message format 2)."""
    fields = [record.key, record.value or b""]
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
    return EncodedRow(row.persistence_id, row.sequence_nr, row.place, (), size, (), problem, row)
