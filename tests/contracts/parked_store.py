"""What every store of parked entities must do."""

import pytest

from bridge.core.parking import ParkedEntity, ReleaseRequest
from bridge.envelope.parked_codec import encode_entity, encode_request, entity_key, request_key
from bridge.envelope.records import OutboundRecord
from bridge.errors import OperatorError, UnavailableError
from bridge.relay.lanes import ParkedStore
from tests.contracts.publisher import BATCH_BYTES, KafkaSubject
from tests.waiting import wait_until

__all__ = ["ParkedStoreContract"]

_ENTITY = ParkedEntity("Ünï/1", ((3, 5), (9, 9)), 3, "too large", 1_700_000_000_000)
_REQUEST = ReleaseRequest("Ünï/1", "request-1", 3, "me@here", "a note", 1_700_000_000_001)


class ParkedStoreContract:
    """Subclasses give the fixture `subject`."""

    @pytest.fixture
    def topic(self, subject: KafkaSubject) -> str:
        return subject.topic(partitions=1)

    def test_an_untouched_topic_has_nothing(self, subject: KafkaSubject, topic: str) -> None:
        store = subject.parked_store(topic)
        assert store.read().entities == {}
        assert store.follow().requests == {}

    def test_what_is_committed_is_found_and_ended_by_a_tombstone(
        self, subject: KafkaSubject, topic: str
    ) -> None:
        following = subject.parked_store(topic)
        state = _record(topic, entity_key(_ENTITY.persistence_id), encode_entity(_ENTITY))
        asked = _record(topic, request_key(_ENTITY.persistence_id), encode_request(_REQUEST))
        _commit(subject, state, asked)
        wait_until(lambda: following.follow().requests, what="the commit to be visible")
        for ledger in (following.follow(), subject.parked_store(topic).read()):
            assert ledger.entities == {"Ünï/1": _ENTITY}
            assert ledger.requests == {"Ünï/1": _REQUEST}
        _commit(subject, *(record._replace(value=None) for record in (state, asked)))
        wait_until(lambda: not following.follow().requests, what="the answer to be visible")
        for ledger in (following.follow(), subject.parked_store(topic).read()):
            assert (ledger.entities, ledger.requests) == ({}, {})

    def test_an_open_transaction_hides_nothing_from_a_start_and_delays_nobody_else(
        self, subject: KafkaSubject, topic: str
    ) -> None:
        publisher = subject.publisher()
        assert publisher.open(BATCH_BYTES) is None
        assert publisher.begin() is None
        key = entity_key(_ENTITY.persistence_id)
        assert publisher.send([_record(topic, key, encode_entity(_ENTITY))]) is None
        store = subject.parked_store(topic)
        wait_until(lambda: _is_refused(subject.parked_store(topic)), what="the open record")
        assert store.follow().entities == {}
        publisher.close()
        assert subject.publisher().open(BATCH_BYTES) is None
        assert store.read().entities == {}

    def test_a_record_of_somebody_else_needs_an_operator(
        self, subject: KafkaSubject, topic: str
    ) -> None:
        _commit(subject, _record(topic, b"entity/x", b"garbage"))
        with pytest.raises(OperatorError):
            subject.parked_store(topic).read()


def _record(topic: str, key: bytes, value: bytes | None) -> OutboundRecord:
    return OutboundRecord(topic, 0, key, value, 0, [])


def _commit(subject: KafkaSubject, *records: OutboundRecord) -> None:
    publisher = subject.publisher()
    assert publisher.open(BATCH_BYTES) is None
    assert publisher.begin() is None
    assert publisher.send(records) is None
    assert publisher.commit(b"no cursor is read here") is None


def _is_refused(store: ParkedStore) -> bool:
    try:
        store.read()
    except UnavailableError:
        return True
    return False
