"""Cursor ⇔ bytes: Avro single-object encoding, so that each record names its schema version."""

from typing import Any

from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.positions import HistoryPosition, Place, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import PgSnapshot
from bridge.envelope.avro_object import AvroObject, Record

__all__ = ["decode_cursor", "encode_cursor"]

_AVRO = AvroObject("cursor", "cursor.avsc")


def encode_cursor(cursor: Cursor) -> bytes:
    """Bytes of `cursor` in the newest schema."""
    return _AVRO.encode(_to_record(cursor))


def decode_cursor(data: bytes) -> Cursor:
    """Read a cursor of any known schema.

    Raises:
        OperatorError: the bytes are no cursor, or of a schema this version does not know.
    """
    try:
        return _from_record(_AVRO.decode(data))
    except (EOFError, ValueError, IndexError, KeyError, TypeError) as e:
        raise _AVRO.unreadable(data, e) from e


def _to_record(cursor: Cursor) -> Record:
    return {
        "app": cursor.app,
        "journal": cursor.journal,
        "shard": cursor.shard,
        "shards": cursor.shards,
        "owner": cursor.owner,
        "system": cursor.identity.system,
        "timeline": cursor.identity.timeline,
        "witness": cursor.identity.witness,
        "origin": _position_record(cursor.origin),
        "position": _position_record(cursor.position),
        "topics": [
            {"name": t.name, "topic_id": t.topic_id, "partitions": t.partitions}
            for t in cursor.topics
        ],
        "rows": cursor.rows,
        "committed_at_ms": cursor.committed_at_ms,
    }


def _position_record(position: Position) -> tuple[str, Record]:
    match position:
        case HistoryPosition(by_entity, after):
            record: Record = {"by_entity": by_entity, "after": _list(after)}
            return "bridge.cursor.History", record
        case WindowPosition(old, new, after):
            end = None if new is None else str(new)
            return "bridge.cursor.Window", {"old": str(old), "new": end, "after": _list(after)}
        case SequencePosition(number):
            return "bridge.cursor.Sequence", {"after": number}


def _from_record(record: Any) -> Cursor:
    return Cursor(
        app=record["app"],
        journal=record["journal"],
        shard=record["shard"],
        shards=record["shards"],
        owner=record["owner"],
        identity=JournalIdentity(record["system"], record["timeline"], record["witness"]),
        origin=_position(record["origin"]),
        position=_position(record["position"]),
        topics=tuple(TopicIdentity(**topic) for topic in record["topics"]),
        rows=record["rows"],
        committed_at_ms=record["committed_at_ms"],
    )


def _position(record: Record) -> Position:
    if "by_entity" in record:
        return HistoryPosition(record["by_entity"], _place(record["after"]))
    if "old" in record:
        new = record["new"]
        return WindowPosition(
            PgSnapshot.parse(record["old"]),
            None if new is None else PgSnapshot.parse(new),
            _place(record["after"]),
        )
    return SequencePosition(record["after"])


def _list(place: Place | None) -> list[int | str] | None:
    return None if place is None else list(place)


def _place(items: list[int | str] | None) -> Place | None:
    return None if items is None else tuple(items)
