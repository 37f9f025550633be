"""librdkafka's built-in test cluster: a broker inside this process, for demonstrations only.

It is volatile, does not fence former producers and shows aborted records to every reader, so no
guarantee holds on it. What else it does its own way is met here and nowhere else:

- It answers no request to create, describe or configure topics. A topic comes into being when its
  metadata is asked for, always with the same number of partitions, and it has no id.
- Control batches carry a checksum of zero, so readers must not check any.
- A fetch brings one batch of a partition, however small, so transactions are made few and large.
- A partition keeps its last 5 MB.
"""

import logging
import time
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Self

from confluent_kafka import KafkaException, Node, Producer, TopicPartitionInfo, Uuid
from confluent_kafka.admin import ResourceType, TopicDescription, TopicMetadata

from bridge.config import Config
from bridge.core.effects import Failed
from bridge.kafka.brokers import Brokers
from bridge.kafka.faults import error_of, made
from bridge.kafka.publisher import KafkaPublisher
from bridge.kafka.settings import KafkaSettings
from bridge.kafka.topics import CALL_TIMEOUT_S, TAG_TOPIC_CONFIG, KafkaTopics, TopicDefaults

__all__ = ["MockCluster"]

PARTITIONS = 4
"""Partitions of every topic."""

_PACE_S = 0.15


class MockCluster:
    """A cluster of one broker that lives until it is closed; a context manager.

    Its clients must have been closed before.
    """

    def __init__(self) -> None:
        properties = {
            "test.mock.num.brokers": 1,
            "bootstrap.servers": "replaced-by-the-test-cluster",
            "logger": logging.getLogger("bridge.kafka"),
        }
        self._host: Producer | None = made(Producer, properties)
        try:
            found = self._host.list_topics(timeout=CALL_TIMEOUT_S).brokers.values()
        except KafkaException as e:
            raise error_of(e, "starting the built-in test cluster") from e
        self.bootstrap_servers = ",".join(f"{broker.host}:{broker.port}" for broker in found)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def brokers(self, config: Config) -> Brokers:
        """How it is reached."""
        settings = _MockSettings(self.bootstrap_servers, config.kafka.properties)
        topics = _MockTopics(settings, TopicDefaults(PARTITIONS, 1))
        return Brokers(settings, topics, check_crcs=False, publisher=_PacedPublisher)

    def close(self) -> None:
        """End it; everything in it is gone."""
        self._host = None


class _MockSettings(KafkaSettings):
    def reader(self) -> dict[str, Any]:
        return {**super().reader(), "check.crcs": False}


class _PacedPublisher(KafkaPublisher):
    """Begins a transaction some time after the one before; meanwhile more rows come together."""

    _not_before = 0.0

    def begin(self) -> Failed | None:
        time.sleep(max(0.0, self._not_before - time.monotonic()))
        self._not_before = time.monotonic() + _PACE_S
        return super().begin()


class _MockTopics(KafkaTopics):
    """Topics told by the metadata alone."""

    def create(self, names: Iterable[str], partitions: int, config: Mapping[str, str]) -> None:  # noqa: ARG002
        for name in names:
            try:
                self._admin.list_topics(name, timeout=CALL_TIMEOUT_S)
            except KafkaException as e:
                raise error_of(e, f"creating topic {name}") from e

    def _describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        known = self._metadata("listing topics").topics
        return {
            name: TopicDescription(name, _id_of(name), False, _partitions(known[name]))
            for name in names
            if name in known
        }

    def _settings(
        self,
        kind: ResourceType,
        names: Iterable[str],
        what: str,  # noqa: ARG002
    ) -> dict[str, dict[str, str]]:
        return dict.fromkeys(names, TAG_TOPIC_CONFIG) if kind is ResourceType.TOPIC else {}


def _partitions(topic: TopicMetadata) -> list[TopicPartitionInfo]:
    nobody = Node(-1, "", 0)
    return [TopicPartitionInfo(number, nobody, [], []) for number in topic.partitions]


def _id_of(name: str) -> Uuid:
    return Uuid(0, zlib.crc32(name.encode()))
