"""The event as an application states it, and the limits that hold for it.

Limits are checked when writing, because a relay that meets a bad row later can only stop or park.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "BIGINT_MAX",
    "BIGINT_MIN",
    "NAME_MAX_CHARACTERS",
    "TAGS_MAX",
    "Event",
]

NAME_MAX_CHARACTERS = 255
"""Of a persistence id, a tag, an event type, a content type, a metadata key: keeps index rows
(a third of an 8 KiB page) and record headers small, and other journals have the same limit."""

TAGS_MAX = 64
"""Of one event: every tag is one more record in the relay's transaction."""

BIGINT_MIN, BIGINT_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event, before it has a sequence number.

    Attributes:
        type: name of the event type, not empty; becomes the record's ``ce_type``.
        payload: a dict is stored as JSON (UTF-8, no spaces, keys in their order), bytes as they
            are, a str as UTF-8. Values that JSON does not have (Decimal, datetime, NaN, keys that
            are not str) are refused: how they are written is the application's decision.
        tags: each becomes one topic; repeated ones count once, order is kept.
        metadata: string pairs that travel as record headers (``traceparent``, …). Keys are header
            tokens; ``content-type`` and names starting with ``ce_`` or ``bridge_`` are reserved.
        timestamp_ms: the event's own time in ms since 1970-01-01 UTC; None: time of the append.
        content_type: media type of the payload; None: ``application/json`` for a dict,
            ``text/plain;charset=utf-8`` for a str, ``application/octet-stream`` for bytes.
    """

    type: str
    payload: dict[str, Any] | bytes | str
    tags: Sequence[str] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    timestamp_ms: int | None = None
    content_type: str | None = None
