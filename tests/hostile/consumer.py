"""A `read_committed` consumer of our own, and what the broker says about the ends of the log."""

from collections.abc import Iterator, Sequence
from contextlib import closing
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

from tests.hostile.events import Record
from tests.waiting import wait_until

__all__ = ["TopicReader"]

_TIMEOUT_S = 30.0
_PAGE = 5000
_LINGER_S = 0.1
"""`consume` waits so long for a page to become full."""

_NOT_THERE_YET = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
}

_OUTDATED = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError._NOENT,
}

Ends = dict[tuple[str, int], int]


class TopicReader:
    """Reads all topics whose names start with a prefix.

    Args:
        bootstrap_servers: the cluster.
        prefix: start of the names.
    """

    def __init__(self, bootstrap_servers: str, prefix: str) -> None:
        self._servers = bootstrap_servers
        self._prefix = prefix
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def log_length(self, topic: str, partitions: int) -> int:
        """Offsets used in a topic, by markers and uncommitted records too; 0 until it exists."""
        if topic not in self._admin.list_topics(timeout=_TIMEOUT_S).topics:
            return 0  # asked for by name, the client would remember that it is not there
        wanted = [TopicPartition(topic, n) for n in range(partitions)]
        try:
            ends = wait_until(
                lambda: self._ends(wanted, IsolationLevel.READ_UNCOMMITTED),
                _TIMEOUT_S,
                f"the ends of {topic}",
            )
        except KafkaException as error:
            if error.args[0].code() in _NOT_THERE_YET:
                return 0
            raise
        return sum(ends.values())

    def in_doubt(self) -> bool:
        """True while a transaction is open in any of the topics."""
        return not self._settled(self._partitions())

    def read(self) -> Iterator[Record]:
        """Every committed record from offset 0 to the end; nobody may write meanwhile.

        Waits until no transaction is open, so that nothing committed is still invisible.
        """
        partitions = self._partitions()
        if not partitions:
            return  # no topic has been made yet
        ends = wait_until(lambda: self._settled(partitions), _TIMEOUT_S, "LSO = high watermark")
        settings = {
            "bootstrap.servers": self._servers,
            "group.id": f"{self._prefix}-judge",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
        with closing(Consumer(settings)) as consumer:
            consumer.assign([TopicPartition(p.topic, p.partition, 0) for p in partitions])
            yield from _read_to(consumer, ends)

    def _partitions(self) -> list[TopicPartition]:
        topics = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        return [
            TopicPartition(name, partition)
            for name, topic in topics.items()
            if name.startswith(self._prefix)
            for partition in topic.partitions
        ]

    def _settled(self, partitions: Sequence[TopicPartition]) -> Ends:
        """The ends when both agree, else nothing."""
        stable = self._ends(partitions, IsolationLevel.READ_COMMITTED)
        high = self._ends(partitions, IsolationLevel.READ_UNCOMMITTED)
        return high if stable == high else {}

    def _ends(self, partitions: Sequence[TopicPartition], isolation: IsolationLevel) -> Ends:
        """The ends; nothing when a broker came back: the next call asks with a new client."""
        latest = OffsetSpec.latest()
        futures = self._admin.list_offsets(
            {partition: latest for partition in partitions},  # noqa: C420 - for its type
            isolation_level=isolation,
            request_timeout=_TIMEOUT_S,
        )
        try:
            return {(p.topic, p.partition): f.result().offset for p, f in futures.items()}
        except KafkaException as error:
            if error.args[0].code() not in _OUTDATED:
                raise
            # The client goes on with what it knew of the broker before.
            self._admin = AdminClient({"bootstrap.servers": self._servers, "log_level": 0})
            return {}


def _read_to(consumer: Consumer, ends: Ends) -> Iterator[Record]:
    """Until the end of every partition was reached; an idle broker is an error, not the end."""
    unread = set(ends)
    while unread:
        messages = wait_until(
            lambda: consumer.consume(_PAGE, timeout=_LINGER_S),
            _TIMEOUT_S,
            "an answer of the broker",
        )
        for message in messages:
            error = message.error()
            topic, partition, offset = _place(message)
            if error is None:
                yield _record(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                assert offset >= ends[topic, partition], f"{topic}[{partition}] ends early"
                unread.discard((topic, partition))
            else:
                raise KafkaException(error)


def _place(message: Message) -> tuple[str, int, int]:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return topic, partition, offset


def _record(message: Message) -> Record:
    topic, partition, offset = _place(message)
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Record(topic, partition, offset, message.key(), message.value(), tuple(headers))
