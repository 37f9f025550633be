"""Cursor store: the shard's partition of the compacted cursor topic."""

from collections import deque
from dataclasses import dataclass

from confluent_kafka import KafkaException

from bridge.core.cursor import Cursor
from bridge.envelope.cursor_codec import decode_cursor
from bridge.errors import OperatorError
from bridge.kafka.faults import error_of
from bridge.kafka.partition_log import PartitionLog
from bridge.kafka.settings import KafkaSettings

__all__ = ["CommittedCursor", "KafkaCursorStore"]

FIRST_BLOCK = 64
"""Offsets looked at first, from the tail; each further look reaches eight times as far."""


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
        self._log = PartitionLog(settings, topic, partition, wait_s)
        self._shown = self._log.shown

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
        begin, end = self._log.span()
        if end == 0:
            return None
        with self._log.reader() as committed:
            reach = FIRST_BLOCK
            while True:
                start = max(begin, end - reach)
                values = (r for r in committed(start, end) if r.value is not None)
                if last := deque(values, maxlen=1):
                    offset, timestamp_ms, _, value = last[0]
                    return CommittedCursor(decode_cursor(value or b""), offset, timestamp_ms)
                if start == begin:
                    if begin == 0:
                        # Nothing was ever committed: the last record of a key outlives
                        # compaction, so only the aborted first claim of a relay is here.
                        return None
                    raise self._lost(end)
                reach *= 8

    def _lost(self, end: int) -> OperatorError:
        return OperatorError(
            f"{self._shown} ends at offset {end} but holds no cursor: the cursor is lost",
            "starting over would publish everything twice; restore the topic, or delete the tag "
            "topics and this one together to begin anew",
        )
