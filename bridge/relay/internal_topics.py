"""Topics that a relay keeps for itself: there before its first producer, with what they need."""

from bridge.envelope.records import TopicFacts
from bridge.errors import SetupError
from bridge.kafka.from_config import SHARDS
from bridge.kafka.topics import (
    COMPACTED_TOPIC_CONFIG,
    KafkaTopics,
    cursor_topic_name,
    dead_letter_topic_name,
    parked_topic_name,
)

__all__ = ["ensure_internal_topics"]


def ensure_internal_topics(
    topics: KafkaTopics, app: str, journal: str
) -> tuple[TopicFacts, TopicFacts]:
    """The topics of dead letters and of parked entities; missing ones are created first.

    Raises:
        SetupError: one exists with settings under which its records vanish or are misplaced.
    """
    _ensure_compacted(topics, cursor_topic_name(app, journal), "cursors")
    parked = _ensure_compacted(topics, parked_topic_name(app, journal), "parked entities")
    dead_letters = dead_letter_topic_name(app, journal)
    return topics.ensure([dead_letters])[dead_letters], parked


def _ensure_compacted(topics: KafkaTopics, name: str, what: str) -> TopicFacts:
    found = topics.facts_and_settings([name]).get(name)
    if found is None:
        topics.create([name], SHARDS, COMPACTED_TOPIC_CONFIG)
        return topics.facts([name])[name]
    facts, settings = found
    policy = settings.get("cleanup.policy")
    if policy != "compact" or facts.partitions != SHARDS:
        raise SetupError(
            f"topic {name} has cleanup.policy={policy} and {facts.partitions} partitions, {what} "
            f"need `compact` and {SHARDS}",
            "set cleanup.policy=compact; if the partitions differ, it is not bridge's own topic",
        )
    return facts
