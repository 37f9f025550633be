"""The records of a tag's topic, for a terminal and as JSON."""

import base64
from collections.abc import Generator
from typing import Any

from bridge.config import Config
from bridge.errors import ConfigError, SetupError
from bridge.kafka.from_config import kafka_settings, kafka_topics, topic_names
from bridge.kafka.tail import TailedRecord, tail
from bridge.status.text import printable

__all__ = ["record_json", "record_text", "tail_tag"]

_PREVIEW_CHARACTERS = 120


def tail_tag(
    config: Config, journal: str, tag: str, *, from_beginning: bool
) -> Generator[TailedRecord, None, None]:
    """Committed records of the tag's topic as they come, without end.

    Raises:
        ConfigError: the tag is not relayed.
        SetupError: its topic does not exist.
        BridgeError: reading has failed.
    """
    topic = topic_names(config, journal).of_tag(tag)
    if topic is None:
        raise ConfigError(f"tag {tag!r} is not relayed", "see topics.include and topics.exclude")
    facts = kafka_topics(config).facts([topic]).get(topic)
    if facts is None:
        raise SetupError(
            f"topic {topic} of tag {tag!r} does not exist",
            "the relay creates it with the first event of this tag; is the tag spelt so?",
        )
    yield from tail(kafka_settings(config), topic, facts.partitions, from_beginning=from_beginning)


def record_text(record: TailedRecord) -> str:
    """One line: partition, offset, key, id, type, time, size, beginning of the payload."""
    value = record.value
    parts = [
        f"{record.partition}/{record.offset}",
        "-" if record.key is None else _shown(record.key),
        *(_shown(record.headers.get(name, b"-")) for name in ("ce_id", "ce_type", "ce_time")),
        "null" if value is None else f"{len(value)} B  {_preview(value)}",
    ]
    return "  ".join(parts)


def record_json(record: TailedRecord) -> dict[str, Any]:
    """The whole record; bytes that are no UTF-8 as base64 under a key of their own."""
    value = record.value
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        **_json("key", record.key),
        "ce_id": _header(record, "ce_id"),
        "ce_type": _header(record, "ce_type"),
        "ce_time": _header(record, "ce_time"),
        "headers": {name: _shown(value) for name, value in record.headers.items()},
        "size": None if value is None else len(value),
        **_json("value", value),
    }


def _json(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _header(record: TailedRecord, name: str) -> str | None:
    value = record.headers.get(name)
    return None if value is None else value.decode(errors="backslashreplace")


def _shown(data: bytes) -> str:
    return printable(data.decode(errors="backslashreplace"))


def _preview(data: bytes) -> str:
    # Four bytes a character at most; what is cut off is not decoded.
    text = data[: 4 * _PREVIEW_CHARACTERS].decode(errors="backslashreplace")
    more = "…" if len(text) > _PREVIEW_CHARACTERS or len(data) > 4 * _PREVIEW_CHARACTERS else ""
    return printable(text[:_PREVIEW_CHARACTERS]) + more
