"""One partition of an internal topic, read up to its true end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from bridge.errors import UnavailableError
from bridge.kafka.faults import made
from bridge.kafka.settings import KafkaSettings

__all__ = ["LogRecord", "PartitionLog"]

CALL_TIMEOUT_S = 10.0
RESULT_TIMEOUT_S = 15.0
"""Above the call's own time-out, so that its error arrives, not a bare time-out of the wait."""


class LogRecord(NamedTuple):
    """A committed record; `value` is None for a tombstone."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class PartitionLog:
    """Committed records of a partition; calls raise KafkaException unless said otherwise.

    Args:
        wait_s: how long to wait for a foreign open transaction at the partition's end.

    Attributes:
        shown: the partition as errors name it.
    """

    def __init__(
        self, settings: KafkaSettings, topic: str, partition: int, wait_s: float = 30.0
    ) -> None:
        self._settings = settings
        self._where = TopicPartition(topic, partition)
        self.shown = f"{topic}[{partition}]"
        self._wait_s = wait_s
        self._admin: AdminClient | None = None

    def span(self, *, stable: bool = False) -> tuple[int, int]:
        """Begin and true end: an open transaction must not hide that records exist.

        Args:
            stable: end where the first open transaction begins instead.
        """
        isolation = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
        admin = self._admin or made(AdminClient, self._settings.client())
        self._admin = None  # one that fails is not asked again: it may wait for a broker long gone
        admin.poll(0)  # hands over the client's log lines, which would pile up
        asked = [
            admin.list_offsets(
                {self._where: spec}, isolation_level=isolation, request_timeout=CALL_TIMEOUT_S
            )[self._where]
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        ]
        begin, end = (int(future.result(RESULT_TIMEOUT_S).offset) for future in asked)
        self._admin = admin
        return begin, end

    @contextmanager
    def reader(self) -> Iterator[Callable[[int, int], Iterator[LogRecord]]]:
        """A function that gives the committed records of [start, end).

        It raises UnavailableError when an open transaction hides the end for too long.
        """
        consumer = made(Consumer, self._settings.reader())
        try:
            yield lambda start, end: self._committed(consumer, start, end)
        finally:
            consumer.close()

    def _committed(self, consumer: Consumer, start: int, end: int) -> Iterator[LogRecord]:
        where = TopicPartition(self._where.topic, self._where.partition, start)
        consumer.assign([where])
        deadline = time.monotonic() + self._wait_s
        reached = start
        while reached < end:
            message = consumer.poll(0.1)
            if message is not None:
                error = message.error()
                # An end of partition before the true end is only the last stable offset.
                reached = _next_offset(message.offset(), error)
                if error is None and reached <= end:
                    value, key = message.value(), message.key()
                    yield LogRecord(reached - 1, message.timestamp()[1], key, value)
            if reached < end and time.monotonic() > deadline:
                raise self._hidden(reached, end)

    def _hidden(self, reached: int, end: int) -> UnavailableError:
        return UnavailableError(
            f"{self.shown}: committed records end at offset {reached}, the partition at {end}: "
            "an open transaction of another producer hides the rest",
            "`kafka-transactions.sh find-hanging` names it; it ends by its time-out or an abort",
        )


def _next_offset(offset: int | None, error: KafkaError | None) -> int:
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    if offset is None:
        raise RuntimeError("a fetched message without an offset")
    return offset if error is not None else offset + 1
