"""The first record of a partition is acknowledged before its second is sent."""

import time
import uuid
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bridge.envelope.records import OutboundRecord
from bridge.kafka import publisher as module
from bridge.kafka.publisher import SETTLED_S, KafkaPublisher
from bridge.kafka.settings import KafkaSettings
from tests.kafka.test_contract import RealSubject
from tests.services import KafkaBroker
from tests.waiting import wait_until

_CURSOR = ("cursors", 0)


class _Client:
    """Takes the place of the client and notes what it is told."""

    def __init__(self, _: object) -> None:
        self.calls: list[object] = []

    def init_transactions(self, _: float) -> None: ...

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def produce(self, topic: str, _: bytes, __: bytes, partition: int, **___: object) -> None:
        self.calls.append((topic, partition))

    def flush(self, _: float) -> int:
        self.calls.append("flush")
        return 0

    def commit_transaction(self, _: float) -> None: ...

    def purge(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> KafkaPublisher:
    """Opened on a client that only takes notes."""
    monkeypatch.setattr(module, "Producer", _Client)
    made = KafkaPublisher(KafkaSettings("nowhere:1", {}), "id", *_CURSOR, b"key")
    made.open(1_000_000)
    return made


def _calls(publisher: KafkaPublisher) -> list[object]:
    client: Any = publisher._live()
    taken, client.calls = client.calls, []
    return list(taken)


def _send(publisher: KafkaPublisher, *where: tuple[str, int]) -> list[object]:
    """What the client is told by one transaction."""
    publisher.begin()
    publisher.send([OutboundRecord(topic, number, b"", b"", 1, []) for topic, number in where])
    publisher.commit(b"cursor")
    return _calls(publisher)


def test_a_partition_is_settled_once(publisher: KafkaPublisher) -> None:
    a, b = ("t", 0), ("t", 1)
    first = _send(publisher, a, b, a, a, b)
    assert first == ["begin", a, b, "flush", a, a, b, _CURSOR, "flush"]
    assert _send(publisher, a, b, a) == ["begin", a, b, a, _CURSOR, "flush"]


def test_one_record_for_each_partition_needs_no_other_round_trip(publisher: KafkaPublisher) -> None:
    assert _send(publisher, ("t", 0), ("t", 1)) == ["begin", ("t", 0), ("t", 1), _CURSOR, "flush"]


def test_another_producer_settles_anew(publisher: KafkaPublisher) -> None:
    a = ("t", 0)
    _send(publisher, a)
    publisher.open(1_000_000)
    assert _send(publisher, a, a) == ["begin", a, "flush", a, _CURSOR, "flush"]


def test_a_broker_may_have_forgotten_the_producer_after_a_while(
    publisher: KafkaPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = ("t", 0)
    _send(publisher, a)
    later = time.monotonic() + SETTLED_S + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert _send(publisher, a, a) == ["begin", a, "flush", a, _CURSOR, "flush"]


def test_a_topic_that_is_used_as_soon_as_its_metadata_is_there_loses_nothing(
    kafka: KafkaBroker, app: str
) -> None:
    """Its broker may not host it yet. Batches are large, so that several are under way at once."""
    subject = RealSubject(kafka, app)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    publisher = subject.make_publisher(None)
    assert publisher.open(1_048_588) is None
    for _ in range(25):
        topic = f"{app}.{uuid.uuid4().hex[:8]}"
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
        wait_until(lambda name=topic: name in admin.list_topics(timeout=10).topics)  # type: ignore[misc]
        values = [bytes([n]) * 200_000 for n in range(9)]
        assert publisher.begin() is None
        assert publisher.send([OutboundRecord(topic, 0, b"", v, 1, []) for v in values]) is None
        assert publisher.commit(b"cursor") is None
        assert [seen.value for seen in subject.committed(topic)] == values
    publisher.close()
