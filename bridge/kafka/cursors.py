"""Cursor store: the shard's partition of the compacted cursor topic."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from bridge.core.cursor import Cursor
from bridge.envelope.cursor_codec import decode_cursor
from bridge.errors import OperatorError, UnavailableError
from bridge.kafka.faults import error_of, made
from bridge.kafka.settings import KafkaSettings

__all__ = ["CommittedCursor", "KafkaCursorStore"]

FIRST_BLOCK = 64
"""Offsets looked at first, from the tail; each further look reaches eight times as far."""

CALL_TIMEOUT_S = 10.0
RESULT_TIMEOUT_S = 15.0
"""Above the call's own time-out, so that its error arrives, not a bare time-out of the wait."""


@dataclass(frozen=True, slots=True)
class CommittedCursor:
    """A cursor and where it is.

    Attributes:
        offset: offset of its record.
        timestamp_ms: time of its record.
    """

    cursor: Cursor
    offset: int
    timestamp_ms: int


class KafkaCursorStore:
    """Reads the cursors of one shard.

    Args:
        topic: the cursor topic.
        partition: the shard's partition.
        wait_s: how long to wait for a foreign open transaction at the partition's end.
    """

    def __init__(
        self, settings: KafkaSettings, topic: str, partition: int, wait_s: float = 30.0
    ) -> None:
        self._settings = settings
        self._where = TopicPartition(topic, partition)
        self._shown = f"{topic}[{partition}]"
        self._wait_s = wait_s

    def latest(self) -> Cursor | None:
        """The last committed cursor; None only if none was ever committed.

        Raises as `latest_record` does.
        """
        found = self.latest_record()
        return found.cursor if found else None

    def latest_record(self) -> CommittedCursor | None:
        """The last committed cursor with its record's offset and time.

        Raises:
            UnavailableError: the brokers cannot be asked, or an open transaction hides the end.
            OperatorError: there were records, but no cursor is left, or it cannot be read.
        """
        try:
            return self._latest()
        except KafkaException as e:
            raise error_of(e, f"reading the cursor in {self._shown}") from e

    def _latest(self) -> CommittedCursor | None:
        admin = made(AdminClient, self._settings.client())
        begin, end = (self._offset(admin, s) for s in (OffsetSpec.earliest(), OffsetSpec.latest()))
        if end == 0:
            return None
        consumer = made(Consumer, self._settings.reader())
        try:
            reach = FIRST_BLOCK
            while True:
                start = max(begin, end - reach)
                last = deque(self._committed(consumer, start, end), maxlen=1)
                if last:
                    offset, timestamp_ms, value = last[0]
                    return CommittedCursor(decode_cursor(value), offset, timestamp_ms)
                if start == begin:
                    if begin == 0:
                        # Nothing was ever committed: the last record of a key outlives
                        # compaction, so only the aborted first claim of a relay is here.
                        return None
                    raise self._lost(end)
                reach *= 8
        finally:
            consumer.close()

    def _offset(self, admin: AdminClient, spec: OffsetSpec) -> int:
        """Begin or true end: an open transaction must not hide that records exist."""
        future = admin.list_offsets(
            {self._where: spec},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=CALL_TIMEOUT_S,
        )[self._where]
        return int(future.result(RESULT_TIMEOUT_S).offset)

    def _committed(
        self, consumer: Consumer, start: int, end: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """Offsets, times and values of committed records in [start, end)."""
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
                if error is None and (value := message.value()) is not None:
                    yield reached - 1, message.timestamp()[1], value
            if reached < end and time.monotonic() > deadline:
                raise self._hidden(reached, end)

    def _hidden(self, reached: int, end: int) -> UnavailableError:
        return UnavailableError(
            f"{self._shown}: committed records end at offset {reached}, the partition at {end}: "
            "an open transaction of another producer hides the rest",
            "`kafka-transactions.sh find-hanging` names it; it ends by its time-out or an abort",
        )

    def _lost(self, end: int) -> OperatorError:
        return OperatorError(
            f"{self._shown} ends at offset {end} but holds no cursor: the cursor is lost",
            "starting over would publish everything twice; restore the topic, or delete the tag "
            "topics and this one together to begin anew",
        )


def _next_offset(offset: int | None, error: KafkaError | None) -> int:
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    if offset is None:
        raise RuntimeError("a fetched message without an offset")
    return offset if error is not None else offset + 1
