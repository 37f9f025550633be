"""The publisher and cursor store suites on a real broker."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bridge.kafka.cursors import KafkaCursorStore
from bridge.kafka.parked import KafkaParkedStore
from bridge.kafka.publisher import KafkaPublisher
from bridge.kafka.settings import KafkaSettings
from tests.contracts.parked_store import ParkedStoreContract
from tests.contracts.publisher import CursorStoreContract, KafkaSubject, PublisherContract, Seen
from tests.services import KafkaBroker
from tests.waiting import wait_until

FOREVER = str(2**63 - 1)


class RealSubject(KafkaSubject):
    def __init__(self, broker: KafkaBroker, app: str) -> None:
        super().__init__()
        self._servers = broker.bootstrap_servers
        self._app = app
        self._admin = AdminClient({"bootstrap.servers": self._servers})
        self._cursors = f"{app}--orders--cursors"
        self._create(self._cursors, 1, {})

    def make_publisher(self, queue_messages: int | None) -> KafkaPublisher:
        queue = {} if queue_messages is None else {"queue.buffering.max.messages": queue_messages}
        settings = KafkaSettings(self._servers, {key: str(value) for key, value in queue.items()})
        return KafkaPublisher(settings, f"{self._app}--orders--0", self._cursors, 0, b"0")

    def store(self) -> KafkaCursorStore:
        return KafkaCursorStore(KafkaSettings(self._servers, {}), self._cursors, 0, wait_s=1.0)

    def parked_store(self, topic: str) -> KafkaParkedStore:
        return KafkaParkedStore(KafkaSettings(self._servers, {}), topic, 0, wait_s=1.0)

    def topic(self, partitions: int = 1, max_message_bytes: int = 1_048_588) -> str:
        name = f"{self._app}.{uuid.uuid4().hex[:8]}"
        config = {
            "max.message.bytes": str(max_message_bytes),
            "retention.ms": "-1",
            "message.timestamp.after.max.ms": FOREVER,
        }
        self._create(name, partitions, config)
        return name

    def committed(self, topic: str) -> list[Seen]:
        """Up to the last stable offset, which is the end for this consumer."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "unused",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        seen = [record for number in partitions for record in _drain(consumer, topic, number)]
        consumer.close()
        return seen

    @contextmanager
    def open_transaction(self) -> Iterator[None]:
        producer = self._foreign_producer()
        producer.begin_transaction()
        producer.produce(self._cursors, b"open", partition=0)
        assert producer.flush(10) == 0
        yield
        producer.abort_transaction(10)
        producer.close()

    def write_garbage(self, value: bytes | None) -> None:
        producer = self._foreign_producer()
        producer.begin_transaction()
        producer.produce(self._cursors, value, partition=0)
        producer.commit_transaction(10)
        producer.close()

    def _foreign_producer(self) -> Producer:
        producer = Producer(
            {"bootstrap.servers": self._servers, "transactional.id": f"{self._app}-foreign"}
        )
        producer.init_transactions(10)
        return producer

    def _create(self, name: str, partitions: int, config: dict[str, str]) -> None:
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
        self._admin.create_topics([new])[name].result(20)
        wait_until(
            lambda: len(self._admin.list_topics(name, 10).topics[name].partitions) == partitions,
            what=f"topic {name} is known",
        )


def _drain(consumer: Consumer, topic: str, number: int) -> Iterator[Seen]:
    consumer.assign([TopicPartition(topic, number, 0)])
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error() is not None:
            return
        found = cast("list[tuple[str, bytes]]", message.headers() or [])
        headers = tuple((name, value.decode()) for name, value in found)
        key, value = message.key(), message.value()
        assert not isinstance(key, str)
        assert not isinstance(value, str)
        yield Seen(number, key, value, message.timestamp()[1], headers)


@pytest.fixture
def subject(kafka: KafkaBroker, app: str) -> RealSubject:
    return RealSubject(kafka, app)


class TestKafkaPublisher(PublisherContract):
    pass


class TestKafkaCursorStore(CursorStoreContract):
    pass


class TestKafkaParkedStore(ParkedStoreContract):
    pass
