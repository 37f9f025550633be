"""A publisher whose brokers are gone gives up by itself: the relay can stop, or try again."""

import pytest

from bridge.core.effects import Failed, Verdict
from bridge.envelope.records import OutboundRecord
from bridge.kafka.publisher import KafkaPublisher
from bridge.kafka.settings import KafkaSettings
from bridge.kafka.topics import KafkaTopics, TopicDefaults
from tests.services import KafkaFactory

_BATCH_BYTES = 1_048_588


@pytest.mark.timeout(90)
def test_a_broker_lost_in_a_transaction_neither_blocks_the_commit_nor_the_end(
    private_kafka: KafkaFactory, app: str
) -> None:
    kafka = private_kafka()
    settings = KafkaSettings(kafka.bootstrap_servers, {})
    topic, cursors = f"{app}.a", f"{app}--orders--cursors"
    KafkaTopics(settings, TopicDefaults(1, -1)).ensure([topic, cursors])
    publisher = KafkaPublisher(settings, app, cursors, 0, b"cursor")
    assert publisher.open(_BATCH_BYTES) is None
    assert publisher.begin() is None
    assert publisher.send([OutboundRecord(topic, 0, b"e", b"x", 1, [])]) is None
    kafka.kill()
    # The time-out of the test is the assertion: the client's own close would wait for ever.
    failure = publisher.commit(b"cursor")
    assert isinstance(failure, Failed)
    assert failure.verdict is Verdict.NEW_PRODUCER
    publisher.close()
    again = publisher.open(_BATCH_BYTES)
    assert isinstance(again, Failed)
    assert again.verdict is Verdict.NEW_PRODUCER
    publisher.close()
