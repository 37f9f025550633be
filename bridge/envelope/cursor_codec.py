"""Cursor ⇔ bytes: Avro single-object encoding, so that each record names its schema version.

A later schema joins `_SCHEMA_FILES` in front; the earlier ones stay, their cursors must be read.
"""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import fingerprint, to_parsing_canonical_form

import bridge
from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.positions import HistoryPosition, Place, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import PgSnapshot
from bridge.errors import OperatorError

__all__ = ["decode_cursor", "encode_cursor"]

_SCHEMA_FILES = ("cursor.avsc",)
_MARKER = b"\xc3\x01"
_HEADER_LENGTH = 10
_Record = dict[str, Any]  # a decoded Avro record: its shape is the schema's


def encode_cursor(cursor: Cursor) -> bytes:
    """Bytes of `cursor` in the newest schema."""
    header, schema = next(iter(_schemas().items()))
    out = io.BytesIO()
    out.write(header)
    schemaless_writer(out, schema, _to_record(cursor), strict=True)
    return out.getvalue()


def decode_cursor(data: bytes) -> Cursor:
    """Read a cursor of any known schema.

    Raises:
        OperatorError: the bytes are no cursor, or of a schema this version does not know.
    """
    header = data[:_HEADER_LENGTH]
    schema = _schemas().get(header)
    if schema is None:
        raise OperatorError(
            f"a cursor record begins with {header.hex()}: no cursor schema that this version knows",
            "run the version of bridge that wrote it, or a later one",
        )
    body = io.BytesIO(data[_HEADER_LENGTH:])
    try:
        cursor = _from_record(schemaless_reader(body, schema, None))
        if body.tell() < len(data) - _HEADER_LENGTH:
            raise ValueError("bytes are left over behind it")
        return cursor
    except (EOFError, ValueError, IndexError, KeyError, TypeError) as e:
        raise OperatorError(
            f"a cursor record of {len(data)} bytes cannot be read ({e})",
            "somebody else wrote to the cursor topic, or it is damaged; restore the record",
        ) from e


@cache
def _schemas() -> dict[bytes, Any]:
    """Single-object header → parsed schema, newest first."""
    return dict(_load(name) for name in _SCHEMA_FILES)


def _load(name: str) -> tuple[bytes, Any]:
    package = Path(bridge.__file__).parent
    installed = package / "schemas" / name
    path = installed if installed.exists() else package.parent / "schemas" / name
    schema = json.loads(path.read_text(encoding="utf-8"))
    print_ = fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")
    return _MARKER + bytes.fromhex(print_), parse_schema(schema)


def _to_record(cursor: Cursor) -> _Record:
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


def _position_record(position: Position) -> tuple[str, _Record]:
    match position:
        case HistoryPosition(by_entity, after):
            record: _Record = {"by_entity": by_entity, "after": _list(after)}
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


def _position(record: _Record) -> Position:
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
