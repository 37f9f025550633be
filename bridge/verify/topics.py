"""The topics' side of the comparison: every committed record up to the ends at one moment."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from bridge.errors import UnavailableError
from bridge.kafka.faults import error_of
from bridge.kafka.settings import KafkaSettings

__all__ = ["Spans", "TopicRecord", "read_records", "read_spans"]

CALL_TIMEOUT_S = 10.0
RESULT_TIMEOUT_S = 15.0
"""Above the call's own time-out, so that its error arrives, not a bare time-out of the wait."""

STALLED_S = 60.0
"""How long nothing may come; an open transaction is ended by the broker after 15 to 25 s."""

_BLOCK = 256
_MEMORY = {"queued.max.messages.kbytes": 8_192, "fetch.max.bytes": 8_388_608}

_PASSING = {
    # The client tries again by itself; the time-out for silence bounds it.
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
}

Spans = Mapping[tuple[str, int], tuple[int, int]]
"""First offset and end of each (topic, partition)."""


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A committed record without its value.

    Attributes:
        key: UTF-8 of the persistence id.
        sequence_nr: None when the record is not one of ours; then `problem` says why.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    sequence_nr: int | None
    late: bool
    problem: str | None


def read_spans(settings: KafkaSettings, partitions: Mapping[str, int]) -> Spans:
    """Where each partition of the topics begins and ends now, open transactions included.

    Args:
        partitions: number of partitions of each topic.
    """
    admin = AdminClient(settings.client())
    where = [TopicPartition(name, p) for name, count in partitions.items() for p in range(count)]
    if not where:
        return {}
    begins, ends = (_offsets(admin, where, s) for s in (OffsetSpec.earliest(), OffsetSpec.latest()))
    return {place: (begins[place], ends[place]) for place in ends}


def read_records(settings: KafkaSettings, spans: Spans) -> Iterator[TopicRecord]:
    """Committed records of the spans; offsets rise within a partition.

    A transaction that is open at an end is waited for: its records may lie below it.

    Raises:
        UnavailableError: the brokers give nothing for a minute, or cannot be asked.
    """
    unread = {place: end for place, (begin, end) in spans.items() if begin < end}
    if not unread:
        return
    consumer = Consumer({**settings.reader(), **_MEMORY})
    try:
        consumer.assign([TopicPartition(t, p, spans[t, p][0]) for t, p in unread])
        for message in _messages(consumer, unread):
            place, offset, error = _where(message), _offset(message), message.error()
            end = unread.get(place)
            if end is None:
                continue
            if error is None and offset < end:
                yield _record(message, place, offset)
            if offset >= end - (error is None):
                del unread[place]
                consumer.incremental_unassign([TopicPartition(*place)])
    except KafkaException as e:
        raise error_of(e, "reading the topics") from e
    finally:
        consumer.close()


def _offsets(
    admin: AdminClient, where: Iterable[TopicPartition], spec: OffsetSpec
) -> dict[tuple[str, int], int]:
    try:
        futures = admin.list_offsets(
            {tp: spec for tp in where},  # noqa: C420 - for its type
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=CALL_TIMEOUT_S,
        )
        return {
            (tp.topic, tp.partition): int(future.result(RESULT_TIMEOUT_S).offset)
            for tp, future in futures.items()
        }
    except KafkaException as e:
        raise error_of(e, "asking for the topics' ends") from e


def _messages(consumer: Consumer, unread: Mapping[tuple[str, int], int]) -> Iterator[Message]:
    """Messages and ends of partitions, until nothing is unread."""
    deadline = time.monotonic() + STALLED_S
    while unread:
        block = consumer.consume(_BLOCK, timeout=0.1)
        for message in block:
            error = message.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:
                yield message
            elif error.code() not in _PASSING:
                raise KafkaException(error)
        if any(message.error() is None for message in block):
            deadline = time.monotonic() + STALLED_S
        elif time.monotonic() > deadline:
            (topic, partition), end = next(iter(unread.items()))
            raise UnavailableError(
                f"Kafka: {topic}[{partition}] gives no committed records up to its end {end}",
                "`kafka-transactions.sh find-hanging` names an open transaction that hides them; "
                "it ends by its time-out or an abort",
            )


def _where(message: Message) -> tuple[str, int]:
    return cast("str", message.topic()), cast("int", message.partition())


def _offset(message: Message) -> int:
    return cast("int", message.offset())


def _record(message: Message, place: tuple[str, int], offset: int) -> TopicRecord:
    headers = dict(cast("list[tuple[str, bytes | None]]", message.headers() or []))
    key = message.key()
    number, problem = _number(key, headers)
    late = "bridge_late" in headers
    return TopicRecord(*place, offset, key, number, late, problem)


def _number(
    key: bytes | None, headers: Mapping[str, bytes | None]
) -> tuple[int | None, str | None]:
    """Sequence number of one of our records, or why it is none."""
    sequence, event_id = headers.get("ce_sequence"), headers.get("ce_id")
    if key is None:
        return None, "it has no key"
    if sequence is None or event_id is None:
        return None, "it has no header ce_id or ce_sequence"
    if not sequence.isdigit() or len(sequence) > 20 or int(sequence) >= 2**63:
        return None, f"ce_sequence is no sequence number: {sequence[:40]!r}"
    if event_id != b"%b/%d" % (key, int(sequence)):
        return None, "ce_id does not name the event of key and ce_sequence"
    return int(sequence), None
