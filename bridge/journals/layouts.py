"""Raw columns → `JournalRow`, for the table layouts that exist; the same on every database.

A raw row is ``(persistence_id, sequence_nr, payload, size, tags, timestamp_ms, event_type,
content_type, metadata, *place)``; `payload` is None when it was withheld for its `size`. A maker
raises ValueError for what no event can hold.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from bridge.core.rows import JournalRow

__all__ = ["RawRow", "RowMaker", "actor_ts_rows", "bridge_rows"]

RawRow = tuple[Any, ...]
RowMaker = Callable[[RawRow, bytes | None], JournalRow]

# A named tuple's own constructor is a Python function, twice as slow; this runs for every event.
_row: Callable[[tuple[object, ...]], JournalRow] = partial(tuple.__new__, JournalRow)

_MAX_CACHED = 10_000
_PLACE = 9  # index of the first place column
_WRAPPER_KEYS = (b'"_t"', b'"__serialized__"')


def bridge_rows() -> RowMaker:
    """Rows of our own layout: tags are a JSON array, metadata a JSON object or None."""
    tags_of = _cached(_json_tags)

    def make(raw: RawRow, payload: bytes | None) -> JournalRow:
        metadata = raw[8]
        return _row(
            (
                raw[0],
                raw[1],
                payload,
                tags_of(raw[4]),
                raw[5],
                raw[6],
                raw[7],
                _json_metadata(metadata) if metadata else (),
                raw[_PLACE:],
            )
        )

    return make


def actor_ts_rows() -> RowMaker:
    """Rows of an actor-ts journal: tags are comma-joined or None, the type is in the payload."""
    tags_of = _cached(lambda text: tuple(dict.fromkeys(t for t in text.split(",") if t)))

    def make(raw: RawRow, payload: bytes | None) -> JournalRow:
        tags = raw[4]
        return _row(
            (
                raw[0],
                raw[1],
                payload,
                tags_of(tags) if tags else (),
                raw[5],
                _manifest(payload),
                "application/json",
                (),
                raw[_PLACE:],
            )
        )

    return make


def _json_tags(text: str) -> tuple[str, ...]:
    tags = json.loads(text)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError(f"tags are no list of texts: {text}")
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _json_metadata(text: str) -> tuple[tuple[str, str], ...]:
    metadata = json.loads(text)
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError(f"metadata is no object of texts: {text}")
    return tuple(sorted(metadata.items()))


def _manifest(payload: bytes | None) -> str | None:
    """Event type of an adapted (``_t``) or custom-serialised event; None for a plain one."""
    if payload is None or not any(key in payload for key in _WRAPPER_KEYS):
        return None
    try:
        event = json.loads(payload)
    except ValueError:
        return None  # the payload is carried as it is; only its type stays unknown
    if not isinstance(event, dict):
        return None
    serialized = event.get("__serialized__")
    if isinstance(serialized, dict):
        event = {"_t": serialized.get("manifest")}
    manifest = event.get("_t")
    return manifest if isinstance(manifest, str) and manifest else None


def _cached(parse: Callable[[str], tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    """Remember results: a journal has few distinct tag lists."""
    known: dict[str, tuple[str, ...]] = {}

    def lookup(text: str) -> tuple[str, ...]:
        tags = known.get(text)
        if tags is None:
            if len(known) >= _MAX_CACHED:
                known.clear()
            tags = known[text] = parse(text)
        return tags

    return lookup
