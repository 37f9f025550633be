"""Following a topic as any `read_committed` consumer sees it."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from bridge.kafka.faults import error_of, made
from bridge.kafka.settings import KafkaSettings

__all__ = ["TailedRecord", "read_partition", "tail"]

_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class TailedRecord:
    """A committed record.

    Attributes:
        timestamp_ms: the record's time; None when it has none.
        value: None for a tombstone.
        headers: the last value of each name.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes]


def tail(
    settings: KafkaSettings, topic: str, partitions: int, *, from_beginning: bool
) -> Generator[TailedRecord, None, None]:
    """Committed records of a topic as they come, without end; in order within each partition.

    Args:
        from_beginning: False: only what is committed from now on.

    Raises:
        BridgeError: reading has failed.
    """
    start = OFFSET_BEGINNING if from_beginning else OFFSET_END
    consumer = made(Consumer, settings.reader())
    try:
        consumer.assign([TopicPartition(topic, p, start) for p in range(partitions)])
        while True:
            message = consumer.poll(_POLL_S)
            if message is not None and _is_record(message):
                yield _record(topic, message)
    except KafkaException as e:
        raise error_of(e, f"reading topic {topic}") from e
    finally:
        consumer.close()


def read_partition(
    settings: KafkaSettings, topic: str, partition: int
) -> Generator[TailedRecord, None, None]:
    """Committed records of one partition, up to where it ends now.

    Raises:
        BridgeError: reading has failed.
    """
    consumer = made(Consumer, settings.reader())
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        while True:
            message = consumer.poll(_POLL_S)
            if message is not None and not _is_record(message):
                return
            if message is not None:
                yield _record(topic, message)
    except KafkaException as e:
        raise error_of(e, f"reading topic {topic}") from e
    finally:
        consumer.close()


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return error is None


def _record(topic: str, message: Message) -> TailedRecord:
    partition, offset = message.partition(), message.offset()
    if partition is None or offset is None:
        raise RuntimeError("a fetched message without its place")
    kind, timestamp_ms = message.timestamp()
    return TailedRecord(
        topic,
        partition,
        offset,
        timestamp_ms if kind else None,
        _bytes(message.key()),
        _bytes(message.value()),
        _headers(message),
    )


def _headers(message: Message) -> dict[str, bytes]:
    found = message.headers() or []
    pairs = found.items() if isinstance(found, dict) else found
    return {name: _bytes(value) or b"" for name, value in pairs}


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
