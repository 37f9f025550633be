"""librdkafka's test cluster behind the same objects as real brokers."""

from collections.abc import Iterator

import pytest

from bridge.config import Config
from bridge.core.effects import Failed
from bridge.envelope.records import OutboundRecord
from bridge.kafka.brokers import Brokers
from bridge.kafka.mock_cluster import MockCluster
from bridge.verify.topics import read_records, read_spans

CONFIG = Config.model_validate(
    {
        "app": "shop",
        "kafka": {"bootstrap_servers": "unused:9092"},
        "journals": {"orders": {"url": "sqlite:///unused.db", "layout": "bridge"}},
    }
)


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    """A cluster of the test's own."""
    with MockCluster() as cluster:
        yield cluster.brokers(CONFIG)


def test_topics_come_into_being_when_they_are_ensured(brokers: Brokers) -> None:
    topics = brokers.topics
    assert topics.facts(["shop.red"]) == {}
    assert topics.existing() == []
    made = topics.ensure(["shop.red", "shop.blue"])
    assert topics.existing() == ["shop.blue", "shop.red"]
    assert {facts.partitions for facts in made.values()} == {4}
    assert made["shop.red"].topic_id != made["shop.blue"].topic_id
    assert topics.facts(["shop.red"]) == topics.ensure(["shop.red"])
    assert topics.first_with_records(["shop.red", "shop.blue"]) is None


def test_readers_get_by_the_control_batches(brokers: Brokers) -> None:
    brokers.topics.ensure(["shop.red", "shop--orders--cursors"])
    publisher = brokers.publisher(brokers.settings, "shop", "shop--orders--cursors", 0, b"shop")
    assert _ok(publisher.open(1_000_000))
    for number in range(3):
        assert _ok(publisher.begin())
        record = OutboundRecord("shop.red", 2, b"a", b"{}", 1_700_000_000_000 + number, [])
        assert _ok(publisher.send([record]))
        assert _ok(publisher.commit(b"cursor"))
    publisher.close()
    assert brokers.topics.first_with_records(["shop.red"]) == "shop.red"
    spans = read_spans(brokers.settings, {"shop.red": 4})
    assert [r.key for r in read_records(brokers.settings, spans)] == [b"a"] * 3


def _ok(outcome: Failed | None) -> bool:
    return outcome is None
