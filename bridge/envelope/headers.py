"""CloudEvents 1.0 headers in Kafka's binary mode. All values are text: clients decode them as such.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md
"""

import json
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple, TypeVar

from bridge.core.murmur2 import murmur2
from bridge.core.rows import JournalRow

__all__ = [
    "HEADER_FRAME",
    "LATE_HEADER",
    "Envelope",
    "Header",
    "HeaderFactory",
    "ReservedHeaderError",
    "foreign_metadata",
]

K = TypeVar("K")
V = TypeVar("V")

Header = tuple[str, str]

Envelope = tuple[bytes, int, list[Header], int]
"""What a row's records share in each of its topics: key (UTF-8 of the persistence id), Kafka's hash
of the key (non-negative), headers, and a bound of the headers' bytes with the lengths that frame
them."""

LATE_HEADER: Header = ("bridge_late", "true")
"""Marks a record that breaks the order of its entity: see the delivery guarantees."""

DEFAULT_EVENT_TYPE = "bridge.event"
"""``ce_type`` of rows whose layout knows no type; CloudEvents requires one."""

HEADER_FRAME = 6
"""Most bytes of a header's two lengths, for names below 64 bytes."""

_MAX_ENTITIES = 50_000
"""Entities whose key and hash are kept: a hash costs as much as the rest of the envelope."""

_MAX_KINDS = 10_000
_OWN_PREFIXES = ("ce_", "bridge_")
_DAY_MS = 86_400_000
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MIN_MS = (date.min.toordinal() - _EPOCH_ORDINAL) * _DAY_MS
_MAX_MS = (date.max.toordinal() - _EPOCH_ORDINAL + 1) * _DAY_MS


class ReservedHeaderError(ValueError):
    """Metadata of an event has the name of a header that bridge sets itself."""


class _Entity(NamedTuple):
    """What the records of one persistence id share; computed once for many events.

    Attributes:
        key: UTF-8 bytes of the id, the record key.
        hash: Kafka's hash of the key, non-negative.
    """

    key: bytes
    hash: int
    subject: Header
    partition_key: Header


class _Kind(NamedTuple):
    """What events of equal type, content type and tags share, and the bytes it takes."""

    type: Header
    rest: tuple[Header, ...]
    size: int


class HeaderFactory:
    """Makes the headers of rows of one journal; repeated parts are computed once."""

    def __init__(self, source: str) -> None:
        self._source: Header = ("ce_source", source)
        self._entities: dict[str, _Entity] = {}
        self._kinds: dict[tuple[str | None, str | None, tuple[str, ...]], _Kind] = {}
        self._seconds: dict[int, str] = {}

    def envelope(self, row: JournalRow) -> "Envelope":
        """Key and headers of a row; raises UnicodeEncodeError or ReservedHeaderError."""
        # Unpacked once: this runs for every event, and each attribute costs.
        persistence_id, number, _, tags, timestamp_ms, event_type, content_type, metadata, _ = row
        entity = self._entities.get(persistence_id) or self._entity(persistence_id)
        key, key_hash, subject, partition_key = entity
        kind_key = (event_type, content_type, tags)
        type_header, rest, size = self._kinds.get(kind_key) or self._kind(kind_key)
        headers = [
            _SPEC_VERSION,
            ("ce_id", f"{persistence_id}/{number}"),
            self._source,
            type_header,
            subject,
            self._time(timestamp_ms),
            ("ce_sequence", str(number).zfill(20)),
            partition_key,
            *rest,
        ]
        size += 3 * len(key)
        if metadata:
            _require_foreign(metadata)
            headers += metadata
            size += _framed_size(metadata)
        return key, key_hash, headers, size

    def _entity(self, persistence_id: str) -> "_Entity":
        key = persistence_id.encode()
        subject, partition_key = ("ce_subject", persistence_id), ("ce_partitionkey", persistence_id)
        made = _Entity(key, murmur2(key) & 0x7FFFFFFF, subject, partition_key)
        return _remember(self._entities, persistence_id, made, _MAX_ENTITIES)

    def _kind(self, key: tuple[str | None, str | None, tuple[str, ...]]) -> _Kind:
        event_type, content_type, tags = key
        type_header: Header = ("ce_type", event_type or DEFAULT_EVENT_TYPE)
        rest: tuple[Header, ...] = (("ce_tags", json.dumps(tags, ensure_ascii=False)),)
        if content_type:
            rest = (*rest, ("content-type", content_type))
        fixed = _framed_size([_SPEC_VERSION, self._source, type_header, *rest])
        made = _Kind(type_header, rest, fixed + _VARIABLE_SIZE)
        return _remember(self._kinds, key, made, _MAX_KINDS)

    def _time(self, timestamp_ms: int) -> Header:
        second, ms = divmod(timestamp_ms, 1000)
        text = self._seconds.get(second)
        if text is None:
            if not _MIN_MS <= timestamp_ms < _MAX_MS:
                # RFC 3339 has years of four digits: ce_time is optional, the moment is not lost.
                return ("bridge_timestamp_ms", str(timestamp_ms))
            text = _remember(self._seconds, second, _second_text(second), _MAX_KINDS)
        return ("ce_time", text + _MILLISECONDS[ms])


def foreign_metadata(metadata: Iterable[Header]) -> list[Header]:
    """Metadata without what poses as a header of bridge's own."""
    return [(name, value) for name, value in metadata if not _is_reserved(name)]


def _require_foreign(metadata: Iterable[Header]) -> None:
    """Metadata must not pose as a header that has a meaning of its own."""
    for name, _ in metadata:
        if _is_reserved(name):
            raise ReservedHeaderError(name)


def _is_reserved(name: str) -> bool:
    return name.lower().startswith(_OWN_PREFIXES) or name.lower() == "content-type"


def _second_text(second: int) -> str:
    day, rest = divmod(second, 86_400)
    minutes, second = divmod(rest, 60)
    hour, minute = divmod(minutes, 60)
    date_text = date.fromordinal(day + _EPOCH_ORDINAL).isoformat()
    return f"{date_text}T{hour:02d}:{minute:02d}:{second:02d}"


def _framed_size(headers: Iterable[Header]) -> int:
    text = [f"{name}{value}" for name, value in headers]
    return sum(len(part.encode()) + HEADER_FRAME for part in text)


def _remember(known: dict[K, V], key: K, value: V, limit: int) -> V:
    """Keep a computed part; values that never repeat must not fill the memory."""
    if len(known) >= limit:
        known.clear()
    known[key] = value
    return value


_SPEC_VERSION: Header = ("ce_specversion", "1.0")

_MILLISECONDS = tuple(f".{ms:03d}Z" for ms in range(1000))

_VARIABLE_SIZE = sum(
    len(name) + HEADER_FRAME + length
    for name, length in (
        ("ce_id", 1 + 20),  # beside the key: slash and number
        ("ce_subject", 0),
        ("ce_partitionkey", 0),
        ("ce_time", 24),
        ("bridge_timestamp_ms", 0),  # instead of ce_time, and shorter with its value
        ("ce_sequence", 20),
    )
)
"""Bytes of the headers that differ from row to row, without the persistence id in three of them."""
