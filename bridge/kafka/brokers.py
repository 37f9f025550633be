"""The brokers as everything else reaches them: their settings and their topics."""

from dataclasses import dataclass

from bridge.config import Config
from bridge.kafka.from_config import kafka_settings, kafka_topics
from bridge.kafka.publisher import KafkaPublisher
from bridge.kafka.settings import KafkaSettings
from bridge.kafka.topics import KafkaTopics

__all__ = ["Brokers", "brokers_of"]


@dataclass(frozen=True, slots=True)
class Brokers:
    """One cluster; another kind of cluster is another such object, given in its place.

    Attributes:
        check_crcs: whether consumers check the checksums of what they fetch.
        publisher: class of the transactional publisher.
    """

    settings: KafkaSettings
    topics: KafkaTopics
    check_crcs: bool = True
    publisher: type[KafkaPublisher] = KafkaPublisher


def brokers_of(config: Config) -> Brokers:
    """The configured brokers; nothing is connected yet."""
    return Brokers(kafka_settings(config), kafka_topics(config))
