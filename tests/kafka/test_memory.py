"""The publisher and cursor store suites on the broker in memory, and what only it can stage."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridge.core.effects import Verdict
from bridge.envelope.cursor_codec import encode_cursor
from bridge.envelope.records import OutboundRecord
from bridge.errors import UnavailableError
from bridge.kafka.memory import MemoryCursorStore, MemoryParkedStore, MemoryPublisher, MemoryTopics
from bridge.kafka.memory_broker import LostAnswer, MemoryBroker
from bridge.relay.catalog import TopicAdmin
from tests.contracts.parked_store import ParkedStoreContract
from tests.contracts.publisher import (
    CursorStoreContract,
    KafkaSubject,
    PublisherContract,
    Seen,
    a_cursor,
)

CURSORS = "cursors"


class MemorySubject(KafkaSubject):
    def __init__(self) -> None:
        super().__init__()
        self.broker = MemoryBroker(transaction_timeout_ms=15_000)
        self.broker.create_topic(CURSORS, 1, {})

    def make_publisher(self, queue_messages: int | None) -> MemoryPublisher:  # noqa: ARG002
        return MemoryPublisher(self.broker, "id", CURSORS, 0, b"0")

    def store(self) -> MemoryCursorStore:
        return MemoryCursorStore(self.broker, CURSORS, 0)

    def parked_store(self, topic: str) -> MemoryParkedStore:
        return MemoryParkedStore(self.broker, topic, 0)

    def topic(self, partitions: int = 1, max_message_bytes: int = 1_048_588) -> str:
        name = uuid.uuid4().hex
        self.broker.create_topic(name, partitions, {"max.message.bytes": str(max_message_bytes)})
        return name

    def committed(self, topic: str) -> list[Seen]:
        numbers = range(self.broker.topics()[topic].facts.partitions)
        return [
            Seen(r.partition, r.key, r.value, r.timestamp_ms, r.headers)
            for number in numbers
            for r in self.broker.committed(topic, number)
        ]

    @contextmanager
    def open_transaction(self) -> Iterator[None]:
        session = self.broker.init("foreign")
        self.broker.begin(session)
        self.broker.produce(session, OutboundRecord(CURSORS, 0, b"", b"open", 1, []))
        yield
        self.broker.abort(session)

    def write_garbage(self, value: bytes | None) -> None:
        session = self.broker.init("foreign")
        self.broker.begin(session)
        self.broker.produce(session, OutboundRecord(CURSORS, 0, b"", value or b"", 1, []))
        self.broker.commit(session)


@pytest.fixture
def subject() -> MemorySubject:
    return MemorySubject()


class TestMemoryPublisher(PublisherContract):
    pass


class TestMemoryCursorStore(CursorStoreContract):
    pass


def _commit_with_lost_answer(subject: MemorySubject, happened: LostAnswer) -> None:
    publisher = subject.publisher()
    assert publisher.open(1_000) is None
    assert publisher.begin() is None
    subject.broker.lose_next_commit(happened)
    failure = publisher.commit(encode_cursor(a_cursor(1)))
    assert failure is not None
    assert failure.verdict is Verdict.NEW_PRODUCER


def test_a_commit_whose_answer_is_lost_may_have_happened(subject: MemorySubject) -> None:
    _commit_with_lost_answer(subject, LostAnswer.COMMITTED)
    assert subject.store().latest() == a_cursor(1)


def test_a_commit_that_did_not_happen_hides_the_end_until_the_next_producer(
    subject: MemorySubject,
) -> None:
    _commit_with_lost_answer(subject, LostAnswer.NOT_COMMITTED)
    with pytest.raises(UnavailableError):
        subject.store().latest()
    publisher = subject.publisher()
    assert publisher.open(1_000) is None
    assert publisher.begin() is None
    assert publisher.commit(encode_cursor(a_cursor(2))) is None
    assert subject.store().latest() == a_cursor(2)


def test_a_transaction_that_takes_too_long_is_aborted_and_its_owner_fenced(
    subject: MemorySubject,
) -> None:
    topic, publisher = subject.topic(), subject.publisher()
    assert publisher.open(1_000) is None
    assert publisher.begin() is None
    assert publisher.send([OutboundRecord(topic, 0, b"", b"", 1, [])]) is None
    subject.broker.advance(15_000)
    failure = publisher.commit(encode_cursor(a_cursor(1)))
    assert failure is not None
    assert failure.verdict is Verdict.FENCED
    assert subject.committed(topic) == []


def test_a_broker_that_is_down_fails_everything_and_comes_back(subject: MemorySubject) -> None:
    subject.broker.reachable = False
    failure = subject.publisher().open(1_000)
    assert failure is not None
    assert failure.verdict is Verdict.NEW_PRODUCER
    with pytest.raises(UnavailableError):
        subject.store().latest()
    subject.broker.reachable = True
    assert subject.store().latest() is None


def test_a_topic_made_anew_has_another_id_and_nothing_of_the_old_one(
    subject: MemorySubject,
) -> None:
    topics: TopicAdmin = MemoryTopics(subject.broker, 3)
    before = topics.ensure(["t"])["t"]
    publisher = subject.publisher()
    assert publisher.open(1_000) is None
    assert publisher.begin() is None
    assert publisher.send([OutboundRecord("t", 2, b"", b"", 1, [])]) is None
    assert topics.first_with_records(["t", CURSORS]) == "t"
    subject.broker.delete_topic("t")
    assert topics.facts(["t"]) == {}
    after = topics.ensure(["t"])["t"]
    assert publisher.commit(encode_cursor(a_cursor(1))) is None
    assert after.topic_id != before.topic_id
    assert topics.first_with_records(["t"]) is None
    assert list(topics.existing()) == [CURSORS, "t"]


class TestMemoryParkedStore(ParkedStoreContract):
    pass
