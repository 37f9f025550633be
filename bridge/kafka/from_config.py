"""Configuration → the Kafka side's parts; nothing is connected yet."""

from bridge.config import Config
from bridge.envelope.naming import TopicNames
from bridge.envelope.parked_codec import ParkedLedger
from bridge.kafka.cursors import KafkaCursorStore
from bridge.kafka.parked import KafkaParkedStore
from bridge.kafka.settings import KafkaSettings
from bridge.kafka.topics import KafkaTopics, TopicDefaults, cursor_topic_name, parked_topic_name

__all__ = [
    "SHARD",
    "SHARDS",
    "cursor_store",
    "kafka_settings",
    "kafka_topics",
    "parked_store",
    "read_parked",
    "topic_names",
]

SHARD = 0
"""The only shard of a journal, and its partition of the compacted topics."""

SHARDS = 1
"""Partitions of the compacted topics."""


def kafka_settings(config: Config) -> KafkaSettings:
    """How to reach the brokers."""
    return KafkaSettings(config.kafka.bootstrap_servers, config.kafka.properties)


def kafka_topics(config: Config) -> KafkaTopics:
    """Topic administration with the configured defaults."""
    defaults = TopicDefaults(config.topics.partitions, config.topics.replication_factor)
    return KafkaTopics(kafka_settings(config), defaults)


def cursor_store(
    config: Config, journal: str, settings: KafkaSettings | None = None
) -> KafkaCursorStore:
    """The cursors of a journal.

    Args:
        settings: in place of the configured ones.
    """
    topic = cursor_topic_name(config.app, journal)
    return KafkaCursorStore(settings or kafka_settings(config), topic, SHARD)


def parked_store(
    config: Config, journal: str, settings: KafkaSettings | None = None
) -> KafkaParkedStore:
    """What is parked of a journal; its topic has to exist.

    Args:
        settings: in place of the configured ones.
    """
    topic = parked_topic_name(config.app, journal)
    return KafkaParkedStore(settings or kafka_settings(config), topic, SHARD)


def read_parked(
    config: Config, journal: str, topics: KafkaTopics, settings: KafkaSettings | None = None
) -> ParkedLedger:
    """Everything that is parked; nothing before the first relay has created the topic.

    Args:
        settings: in place of the configured ones.

    Raises:
        BridgeError: the brokers cannot be asked, or the topic cannot be read.
    """
    if not topics.facts([parked_topic_name(config.app, journal)]):
        return ParkedLedger()
    return parked_store(config, journal, settings).read()


def topic_names(config: Config, journal: str) -> TopicNames:
    """Which topics a journal's tags go to."""
    topics = config.topics
    return TopicNames(
        app=config.app,
        journal=journal,
        template=topics.name,
        include=topics.include,
        exclude=topics.exclude,
        mapping=dict(topics.map),
        everything=topics.all,
    )
