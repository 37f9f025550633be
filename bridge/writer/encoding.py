"""Events into rows of `bridge_events`: everything that can be refused is refused here."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict

from bridge.writer.checks import (
    FaultError,
    check_bigint,
    check_metadata_key,
    check_name,
    check_text,
)
from bridge.writer.errors import InvalidEventError
from bridge.writer.events import BIGINT_MAX, TAGS_MAX, Event

__all__ = ["EventFields", "EventRow", "check_append", "encode_events"]


class EventFields(TypedDict):
    """The columns of a row that do not depend on its sequence number."""

    event_type: str
    content_type: str
    payload: bytes
    tags: list[str]
    metadata: dict[str, str]
    timestamp_ms: int


class EventRow(EventFields):
    """What a writer supplies of a row; the server adds the rest."""

    persistence_id: str
    sequence_nr: int


@contextmanager
def _located(where: str, index: int | None) -> Iterator[None]:
    try:
        yield
    except FaultError as fault:
        raise InvalidEventError(
            f"{where}: {fault.why}", fault.hint, field=fault.field, index=index
        ) from fault.__cause__


def check_append(persistence_id: object, expected: object, count: int) -> None:
    """Check what concerns the append as a whole; `count` is the number of events.

    Raises:
        InvalidEventError: the persistence id or the expected number cannot be.
    """
    with _located("append", None):
        check_name("persistence_id", "persistence id", persistence_id)
    if expected is not None:
        with _located(f"append to {persistence_id!r}", None):
            number = check_bigint("expected_sequence_nr", expected, minimum=0)
            if number > BIGINT_MAX - count:
                raise FaultError(
                    "expected_sequence_nr",
                    f"{count} more events after {number} exceed the largest sequence number",
                )


def encode_events(
    persistence_id: str, events: Sequence[Event], now_ms: Callable[[], int]
) -> list[EventFields]:
    """Columns of each event that do not depend on its sequence number, in the given order.

    The clock is asked once, so that events appended together bear the same time.

    Raises:
        InvalidEventError: names the first event at fault and why.
    """
    append_ms = now_ms()
    encoded = []
    for index, event in enumerate(events):
        if not isinstance(event, Event):
            raise InvalidEventError(
                f"event {index} of append to {persistence_id!r} is "
                f"{type(event).__name__}, not Event",
                "pass a list of bridge.writer.Event",
                field="events",
                index=index,
            )
        where = f"event {index} ({event.type!r:.80}) of append to {persistence_id!r}"
        with _located(where, index):
            encoded.append(_encode(event, append_ms))
    return encoded


def _encode(event: Event, append_ms: int) -> EventFields:
    event_type = check_name("type", "event type", event.type)
    payload, default_content_type = _payload(event.payload)
    return {
        "event_type": event_type,
        "content_type": _content_type(event.content_type, default_content_type),
        "payload": payload,
        "tags": _tags(event.tags),
        "metadata": _metadata(event.metadata),
        "timestamp_ms": check_bigint(
            "timestamp_ms", append_ms if event.timestamp_ms is None else event.timestamp_ms
        ),
    }


def _payload(payload: object) -> tuple[bytes, str]:
    match payload:
        case dict():
            return _json(payload), "application/json"
        case bytes():
            return payload, "application/octet-stream"
        case str():
            return _utf8(payload), "text/plain;charset=utf-8"
    raise FaultError(
        "payload",
        f"payload is {type(payload).__name__}",
        "pass a dict (stored as JSON), bytes, or a str (stored as UTF-8)",
    )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Not chained: the encoding error would carry the payload into logs.
        raise FaultError(
            "payload", "payload contains a lone surrogate, which UTF-8 cannot express"
        ) from None


def _json(payload: dict[object, object]) -> bytes:
    try:
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise FaultError(
            "payload",
            f"payload cannot be written as JSON: {error}",
            "convert it to JSON values first, or encode it yourself and pass bytes",
        ) from error
    _refuse_foreign_keys(payload)
    return _utf8(text)


def _refuse_foreign_keys(payload: dict[object, object]) -> None:
    # json writes the keys 1, 1.0, True, None as strings: {1: "a", "1": "b"} would lose a value.
    # The encoder ran before, so that there is no cycle here.
    pending: list[object] = [payload]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise FaultError(
                        "payload", f"payload has a key of type {type(key).__name__}, not str"
                    )
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            pending.extend(value)


def _content_type(content_type: object, default: str) -> str:
    if content_type is None:
        return default
    checked = check_name("content_type", "content type", content_type)
    if not (checked.isascii() and checked.isprintable()):
        raise FaultError("content_type", "content type is not printable ASCII")
    return checked


def _tags(tags: object) -> list[str]:
    # A str is a sequence of str too: tags="orders" would become six tags.
    if not isinstance(tags, list | tuple):
        raise FaultError("tags", f"tags is {type(tags).__name__}", "pass a list or tuple of str")
    unique = list(dict.fromkeys(check_name("tags", "tag", tag) for tag in tags))
    if len(unique) > TAGS_MAX:
        raise FaultError("tags", f"{len(unique)} tags, at most {TAGS_MAX} are allowed")
    return unique


def _metadata(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        raise FaultError("metadata", f"metadata is {type(metadata).__name__}, not a mapping")
    return {
        check_metadata_key(key): check_text("metadata", f"metadata value of {key!r:.80}", value)
        for key, value in metadata.items()
    }
