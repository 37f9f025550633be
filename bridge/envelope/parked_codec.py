"""The topic of parked entities: its keys and values, and what they add up to."""

from dataclasses import dataclass, field
from typing import TypeVar

from bridge.core.parking import ParkedEntity, ReleaseRequest
from bridge.envelope.avro_object import AvroObject
from bridge.errors import OperatorError

__all__ = [
    "ParkedLedger",
    "discarded_key",
    "encode_entity",
    "encode_request",
    "entity_key",
    "persistence_id_bytes",
    "request_key",
    "sendable",
]

K = TypeVar("K")
V = TypeVar("V")

_ENTITY = AvroObject("parked entity", "parked-entity.avsc")
_REQUEST = AvroObject("release request", "parked-request.avsc")
_MAX_TEXT = 2_000
_DAMAGE = (EOFError, ValueError, IndexError, KeyError, TypeError)


def sendable(text: str) -> str:
    """Text for people in a length and an encoding that every record takes."""
    return text[:_MAX_TEXT].encode("utf-8", "backslashreplace").decode()


def persistence_id_bytes(persistence_id: str) -> bytes:
    """UTF-8 of an id; also of one that is not Unicode, which no record of a tag topic can have."""
    return persistence_id.encode("utf-8", "surrogatepass")


def entity_key(persistence_id: str) -> bytes:
    """Key of an entity's state."""
    return b"entity/" + persistence_id_bytes(persistence_id)


def request_key(persistence_id: str) -> bytes:
    """Key of the request about an entity; there is one at a time."""
    return b"request/" + persistence_id_bytes(persistence_id)


def discarded_key(persistence_id: str, sequence_nr: int) -> bytes:
    """Key of the record that an event was given up."""
    return b"discarded/" + persistence_id_bytes(persistence_id) + b"/%d" % sequence_nr


def encode_entity(entity: ParkedEntity) -> bytes:
    """Value of an entity's state."""
    return _ENTITY.encode(
        {
            "persistence_id": persistence_id_bytes(entity.persistence_id),
            "waiting": [{"first": first, "last": last} for first, last in entity.waiting],
            "order_from": entity.order_from,
            "reason": sendable(entity.reason),
            "parked_at_ms": entity.parked_at_ms,
        }
    )


def encode_request(request: ReleaseRequest) -> bytes:
    """Value of a request, and of the record that it has given up an event."""
    return _REQUEST.encode(
        {
            "persistence_id": persistence_id_bytes(request.persistence_id),
            "request_id": request.request_id,
            "discard": request.discard,
            "by": sendable(request.by),
            "note": sendable(request.note),
            "requested_at_ms": request.requested_at_ms,
        }
    )


@dataclass(slots=True)
class ParkedLedger:
    """What the records of the topic add up to, in the order in which they are applied.

    Attributes:
        entities: parked entities by persistence id.
        requests: requests that are not answered, by persistence id.
        discarded: (persistence id, number) → the request that gave the event up.
    """

    entities: dict[str, ParkedEntity] = field(default_factory=dict)
    requests: dict[str, ReleaseRequest] = field(default_factory=dict)
    discarded: dict[tuple[str, int], ReleaseRequest] = field(default_factory=dict)

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Take one record; one without a value ends what the key stands for.

        Raises:
            OperatorError: it is no record of this topic.
        """
        kind, _, rest = (key or b"").partition(b"/")
        asks = kind in (b"request", b"discarded")
        request = None if value is None or not asks else _decode_request(value)
        match kind:
            case b"entity":
                entity = None if value is None else _decode_entity(value)
                _put(self.entities, _text(rest), entity)
            case b"request":
                _put(self.requests, _text(rest), request)
            case b"discarded" if (number := rest.rpartition(b"/")[2]).isdigit():
                pid = rest[: -len(number) - 1]
                _put(self.discarded, (_text(pid), int(number)), request)
            case _:
                raise _foreign(key)


def _put(found: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        found.pop(key, None)
    else:
        found[key] = value


def _decode_entity(data: bytes) -> ParkedEntity:
    try:
        record = _ENTITY.decode(data)
        return ParkedEntity(
            persistence_id=_text(record["persistence_id"]),
            waiting=tuple((run["first"], run["last"]) for run in record["waiting"]),
            order_from=record["order_from"],
            reason=record["reason"],
            parked_at_ms=record["parked_at_ms"],
        )
    except _DAMAGE as e:
        raise _ENTITY.unreadable(data, e) from e


def _decode_request(data: bytes) -> ReleaseRequest:
    try:
        record = _REQUEST.decode(data)
        return ReleaseRequest(**{**record, "persistence_id": _text(record["persistence_id"])})
    except _DAMAGE as e:
        raise _REQUEST.unreadable(data, e) from e


def _foreign(key: bytes | None) -> OperatorError:
    return OperatorError(
        f"the topic of parked entities holds a record with key {key!r}",
        "somebody else writes to it; take the right to write from all but the relay and its "
        "operators, and write a record without a value under that key",
    )


def _text(persistence_id: bytes) -> str:
    return persistence_id.decode("utf-8", "surrogatepass")
