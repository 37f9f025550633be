"""What every transactional publisher, and every cursor store beside it, must do."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import pytest

from bridge.core.cursor import Cursor, JournalIdentity
from bridge.core.effects import Verdict
from bridge.core.positions import SequencePosition
from bridge.envelope.cursor_codec import encode_cursor
from bridge.envelope.records import OutboundRecord
from bridge.errors import OperatorError, UnavailableError
from bridge.relay.lanes import CursorStore, ParkedStore, Publisher

__all__ = ["CursorStoreContract", "KafkaSubject", "PublisherContract", "Seen", "a_cursor"]

BATCH_BYTES = 1_048_588
LATE_MS = 4_102_444_800_000  # the year 2100


class Seen(NamedTuple):
    """A record as a ``read_committed`` consumer got it."""

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, str], ...]


class KafkaSubject(ABC):
    """A broker with a cursor topic of one partition, which is empty."""

    def __init__(self) -> None:
        self._publishers: list[Publisher] = []

    def publisher(self, *, queue_messages: int | None = None) -> Publisher:
        """A new publisher, not open; all have the same transactional id."""
        self._publishers.append(self.make_publisher(queue_messages))
        return self._publishers[-1]

    def close(self) -> None:
        """Close all publishers that were given out."""
        for publisher in self._publishers:
            publisher.close()

    @abstractmethod
    def make_publisher(self, queue_messages: int | None) -> Publisher:
        """Make a publisher whose client queues at most so many records; None: its default."""

    @abstractmethod
    def store(self) -> CursorStore:
        """A cursor store; it waits for an open transaction briefly, if at all."""

    @abstractmethod
    def parked_store(self, topic: str) -> ParkedStore:
        """A store of what is parked in a topic of one partition; it waits briefly, if at all."""

    @abstractmethod
    def topic(self, partitions: int = 1, max_message_bytes: int = 1_048_588) -> str:
        """A new topic."""

    @abstractmethod
    def committed(self, topic: str) -> Sequence[Seen]:
        """What a ``read_committed`` consumer gets, partition by partition."""

    @abstractmethod
    def open_transaction(self) -> AbstractContextManager[None]:
        """Another producer's transaction on the cursor partition; aborted at the end."""

    @abstractmethod
    def write_garbage(self, value: bytes | None) -> None:
        """Commit a record that is no cursor to the cursor partition."""


def a_cursor(rows: int) -> Cursor:
    """A cursor that tells itself by `rows`."""
    return Cursor(
        app="contract",
        journal="orders",
        shard=0,
        shards=1,
        owner="me",
        identity=JournalIdentity("system", 1, "witness"),
        origin=SequencePosition(0),
        position=SequencePosition(rows),
        topics=(),
        rows=rows,
        committed_at_ms=1,
    )


def _record(topic: str, number: int, partition: int = 0) -> OutboundRecord:
    value = f"value {number}".encode()
    return OutboundRecord(topic, partition, b"key", value, 1_000 + number, [("ce_id", str(number))])


def _values(seen: Sequence[Seen]) -> list[bytes | None]:
    return [record.value for record in seen]


def _publish(publisher: Publisher, records: Sequence[OutboundRecord], rows: int) -> None:
    assert publisher.begin() is None
    assert publisher.send(records) is None
    assert publisher.commit(encode_cursor(a_cursor(rows))) is None


class _Contract:
    """Subclasses give the fixture `subject`."""

    @pytest.fixture(autouse=True)
    def _publishers_are_closed(self, subject: KafkaSubject) -> Iterator[None]:
        yield
        subject.close()

    @pytest.fixture
    def opened(self, subject: KafkaSubject) -> Callable[[], Publisher]:
        def open_() -> Publisher:
            publisher = subject.publisher()
            assert publisher.open(BATCH_BYTES) is None
            return publisher

        return open_


Opened = Callable[[], Publisher]


class PublisherContract(_Contract):
    """What the relay expects of a publisher."""

    def test_a_commit_shows_records_and_cursor_together(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        topic, publisher = subject.topic(), opened()
        assert publisher.begin() is None
        assert publisher.send([_record(topic, 1)]) is None
        assert _values(subject.committed(topic)) == []
        assert publisher.commit(encode_cursor(a_cursor(1))) is None
        assert _values(subject.committed(topic)) == [b"value 1"]
        assert subject.store().latest() == a_cursor(1)

    def test_records_arrive_exactly_and_in_order(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        topic = subject.topic(partitions=2)
        headers = [("ce_id", "ä/1"), ("ce_id", "again"), ("empty", "")]
        first = [
            OutboundRecord(topic, 0, "schlüssel".encode(), b"", 1, headers),
            OutboundRecord(topic, 0, b"", b"\x00\xff", LATE_MS, []),
            OutboundRecord(topic, 1, b"k", b"{}", 1_700_000_000_123, [("a", "b")]),
        ]
        second = [OutboundRecord(topic, 1, b"k", b"2", 5, [])]
        publisher = opened()
        _publish(publisher, first, 1)
        _publish(publisher, second, 2)
        expected = [
            Seen(r.partition, r.key, r.value, r.timestamp_ms, tuple(r.headers))
            for r in first + second
        ]
        assert list(subject.committed(topic)) == expected

    def test_a_later_producer_fences_the_earlier_one(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        topic, earlier = subject.topic(), opened()
        assert earlier.begin() is None
        assert earlier.send([_record(topic, 1)]) is None
        later = opened()
        failure = earlier.commit(encode_cursor(a_cursor(1)))
        assert failure is not None
        assert failure.verdict is Verdict.FENCED
        _publish(later, [_record(topic, 2)], 2)
        assert _values(subject.committed(topic)) == [b"value 2"]
        assert subject.store().latest() == a_cursor(2)

    def test_closing_aborts_what_was_not_committed(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        topic, publisher = subject.topic(), opened()
        _publish(publisher, [_record(topic, 1)], 1)
        assert publisher.begin() is None
        assert publisher.send([_record(topic, 2)]) is None
        publisher.close()
        _publish(opened(), [_record(topic, 3)], 3)
        assert _values(subject.committed(topic)) == [b"value 1", b"value 3"]
        assert subject.store().latest() == a_cursor(3)

    def test_a_refused_record_takes_the_transaction_along_and_a_new_producer_goes_on(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        topic, publisher = subject.topic(max_message_bytes=2_000), opened()
        large = _record(topic, 2)._replace(value=b"x" * 5_000)
        assert publisher.begin() is None
        failure = publisher.send([_record(topic, 1), large, _record(topic, 3)])
        failure = failure or publisher.commit(encode_cursor(a_cursor(3)))
        assert failure is not None
        assert failure.verdict is Verdict.NEW_PRODUCER
        with pytest.raises(RuntimeError, match="not open"):
            publisher.begin()
        _publish(opened(), [_record(topic, 1)], 1)
        assert _values(subject.committed(topic)) == [b"value 1"]
        assert subject.store().latest() == a_cursor(1)

    def test_a_publisher_can_be_opened_again(self, subject: KafkaSubject, opened: Opened) -> None:
        topic, publisher = subject.topic(), opened()
        _publish(publisher, [_record(topic, 1)], 1)
        assert publisher.open(BATCH_BYTES) is None
        _publish(publisher, [_record(topic, 2)], 2)
        assert _values(subject.committed(topic)) == [b"value 1", b"value 2"]

    @pytest.mark.parametrize("count", [99, 100, 1_000])
    def test_a_full_queue_only_makes_the_relay_wait(
        self, subject: KafkaSubject, count: int
    ) -> None:
        topic = subject.topic()
        publisher = subject.publisher(queue_messages=100)
        assert publisher.open(BATCH_BYTES) is None
        _publish(publisher, [_record(topic, number) for number in range(count)], count)
        expected = [f"value {number}".encode() for number in range(count)]
        assert _values(subject.committed(topic)) == expected


class CursorStoreContract(_Contract):
    """What the relay expects of a cursor store."""

    def test_an_untouched_partition_holds_no_cursor(self, subject: KafkaSubject) -> None:
        assert subject.store().latest() is None

    def test_only_committed_cursors_count(self, subject: KafkaSubject, opened: Opened) -> None:
        publisher = opened()
        for rows in range(1, 4):
            _publish(publisher, [], rows)
        assert subject.store().latest() == a_cursor(3)
        with subject.open_transaction():
            pass
        assert subject.store().latest() == a_cursor(3)

    def test_aborted_records_in_any_number_do_not_hide_the_cursor(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        _publish(opened(), [], 1)
        for _ in range(40):  # two offsets each: more than one look back
            with subject.open_transaction():
                pass
        assert subject.store().latest() == a_cursor(1)

    def test_an_open_transaction_at_the_end_is_not_taken_for_the_end(
        self, subject: KafkaSubject, opened: Opened
    ) -> None:
        _publish(opened(), [], 1)
        with subject.open_transaction(), pytest.raises(UnavailableError, match="open transaction"):
            subject.store().latest()
        assert subject.store().latest() == a_cursor(1)

    def test_an_open_transaction_on_a_partition_without_cursors_is_no_untouched_partition(
        self, subject: KafkaSubject
    ) -> None:
        with subject.open_transaction(), pytest.raises(UnavailableError, match="open transaction"):
            subject.store().latest()

    def test_an_aborted_first_claim_is_no_cursor_and_no_loss(self, subject: KafkaSubject) -> None:
        with subject.open_transaction():
            pass
        assert subject.store().latest() is None

    @pytest.mark.parametrize("value", [b"", b"garbage", b"\xc3\x01 not a known schema"])
    def test_a_record_that_is_no_cursor_needs_an_operator(
        self, subject: KafkaSubject, opened: Opened, value: bytes
    ) -> None:
        _publish(opened(), [], 1)
        subject.write_garbage(value)
        with pytest.raises(OperatorError):
            subject.store().latest()
