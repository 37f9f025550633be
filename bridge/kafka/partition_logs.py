"""Where the logs of partitions begin and end, and whether an offset still belongs to them."""

from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from bridge.errors import UnavailableError
from bridge.kafka.faults import error_of, made
from bridge.kafka.settings import KafkaSettings

__all__ = ["LogRange", "PartitionLogs"]

_CALL_TIMEOUT_S = 10.0
_RESULT_TIMEOUT_S = 15.0
"""Above the call's own time-out, so that its error arrives, not a bare time-out of the wait."""

_VALIDATION_S = 10.0

# The client says the last one when it would start elsewhere and is not allowed to: truncation as
# well as an offset out of range.
_NOT_THE_SAME_LOG = {
    KafkaError._LOG_TRUNCATION,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError._AUTO_OFFSET_RESET,
}

Place = tuple[str, int]
"""Topic and partition."""


class LogRange(NamedTuple):
    """Offsets of a partition.

    Attributes:
        start: the first one that is still there.
        end: behind the last one; aborted and open transactions count.
        leader_epoch: of the leader that told the end; None: the broker does not say.
    """

    start: int
    end: int
    leader_epoch: int | None


class PartitionLogs:
    """Looks at partitions beside the consumer; calls block and may come from any thread."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._admin = made(AdminClient, settings.client())

    def ranges(self, places: Iterable[Place]) -> dict[Place, LogRange]:
        """Beginning and end of each partition."""
        wanted = list(places)
        starts = self._list(wanted, OffsetSpec.earliest())
        ends = self._list(wanted, OffsetSpec.latest())
        return {
            place: LogRange(starts[place].offset, ends[place].offset, ends[place].leader_epoch)
            for place in wanted
        }

    def leader_epochs(self, places: Iterable[Place]) -> dict[Place, int | None]:
        """Epoch of each partition's leader."""
        found = self._list(list(places), OffsetSpec.latest())
        return {place: info.leader_epoch for place, info in found.items()}

    def was_truncated(self, place: Place, offset: int, leader_epoch: int) -> bool:
        """Whether records below `offset` are others than the leader of `leader_epoch` had.

        Asks as a consumer does that moves to another leader (KIP-320).
        """
        consumer = made(Consumer, self._settings.reader())
        try:
            consumer.assign([TopicPartition(*place, offset, leader_epoch=leader_epoch)])
            message = consumer.poll(_VALIDATION_S)
            if message is None:
                raise UnavailableError(
                    f"Kafka: no answer about offset {offset} of partition {place[1]} of {place[0]}",
                    "check that the brokers are up; it goes on by itself",
                )
            error = message.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:
                return False
            if error.code() in _NOT_THE_SAME_LOG:
                return True
            raise KafkaException(error)
        except KafkaException as e:
            raise error_of(e, f"validating offset {offset} of topic {place[0]}") from e
        finally:
            consumer.close()

    def _list(self, places: list[Place], spec: OffsetSpec) -> dict[Place, ListOffsetsResultInfo]:
        if not places:
            return {}
        self._admin.poll(0)  # hands over the client's log lines, which would pile up
        futures = self._admin.list_offsets(
            {TopicPartition(*place): spec for place in places},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=_CALL_TIMEOUT_S,
        )
        try:
            return {
                (tp.topic, tp.partition): future.result(_RESULT_TIMEOUT_S)
                for tp, future in futures.items()
            }
        except KafkaException as e:
            raise error_of(e, "asking for the ends of partitions") from e
