"""The last committed cursor of a journal, for people and for JSON."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bridge.config import Config
from bridge.kafka.cursors import CommittedCursor
from bridge.kafka.from_config import cursor_store, kafka_topics
from bridge.kafka.topics import KafkaTopics, cursor_topic_name

__all__ = ["cursor_json", "cursor_lines", "read_cursor", "read_cursors"]


def read_cursor(config: Config, journal: str, topics: KafkaTopics) -> CommittedCursor | None:
    """The last committed cursor; None when no relay of this journal has ever committed.

    Raises:
        UnavailableError: the brokers cannot be asked.
        OperatorError: there were cursors, but none is left, or it cannot be read.
    """
    if not topics.facts([cursor_topic_name(config.app, journal)]):
        return None
    return cursor_store(config, journal).latest_record()


def read_cursors(config: Config, journals: list[str]) -> dict[str, CommittedCursor | None]:
    """The same for several journals, by name."""
    topics = kafka_topics(config)
    return {name: read_cursor(config, name, topics) for name in journals}


def cursor_json(found: CommittedCursor) -> dict[str, Any]:
    """Everything in a cursor and its record; positions as text."""
    cursor, identity = found.cursor, found.cursor.identity
    return {
        "offset": found.offset,
        "recorded_at_ms": found.timestamp_ms,
        "committed_at_ms": cursor.committed_at_ms,
        "owner": cursor.owner,
        "shard": cursor.shard,
        "shards": cursor.shards,
        "rows": cursor.rows,
        "origin": str(cursor.origin),
        "position": str(cursor.position),
        "identity": {
            "system": identity.system,
            "timeline": identity.timeline,
            "witness": identity.witness,
        },
        "topics": [
            {"name": t.name, "topic_id": t.topic_id, "partitions": t.partitions}
            for t in cursor.topics
        ],
    }


def cursor_lines(found: CommittedCursor) -> Iterator[tuple[str, str]]:
    """Label and value of each part of a cursor."""
    cursor, identity = found.cursor, found.cursor.identity
    yield "position", str(cursor.position)
    yield "origin", str(cursor.origin)
    yield "rows", f"{cursor.rows} taken from the journal since the origin"
    yield "committed", f"{_moment(cursor.committed_at_ms)}, offset {found.offset}"
    yield "owner", cursor.owner
    yield "database", f"system {identity.system}, timeline {identity.timeline}"
    for topic in cursor.topics:
        yield "topic", f"{topic.name} (id {topic.topic_id}, {topic.partitions} partitions)"


def _moment(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds")
