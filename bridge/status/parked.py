"""What is parked of a journal, for people and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bridge.config import Config
from bridge.core.murmur2 import partition_of
from bridge.core.parking import ParkedEntity
from bridge.envelope.parked_codec import ParkedLedger, persistence_id_bytes
from bridge.envelope.parking import PAYLOAD_HEADER, REASON_HEADER, SIZE_HEADER
from bridge.kafka.from_config import kafka_settings, kafka_topics
from bridge.kafka.tail import TailedRecord, read_partition
from bridge.kafka.topics import dead_letter_topic_name
from bridge.status.text import age, printable

__all__ = [
    "ParkedSummary",
    "dead_letters",
    "letter_json",
    "letter_text",
    "parked_json",
    "parked_text",
    "summary_of",
]


@dataclass(frozen=True, slots=True)
class ParkedSummary:
    """How much is parked.

    Attributes:
        oldest_ms: when the entity that waits longest was parked; None when none waits.
        requested: entities whose release is asked for and not answered.
    """

    entities: int
    events: int
    oldest_ms: int | None
    requested: int


def summary_of(ledger: ParkedLedger) -> ParkedSummary:
    """The ledger in numbers."""
    entities = ledger.entities.values()
    return ParkedSummary(
        entities=len(entities),
        events=sum(entity.count for entity in entities),
        oldest_ms=min((entity.parked_at_ms for entity in entities), default=None),
        requested=len(ledger.requests.keys() & ledger.entities.keys()),
    )


def dead_letters(
    config: Config, journal: str, entity: ParkedEntity
) -> Iterator[tuple[int, TailedRecord]]:
    """The dead letters of the events that wait, by number; topic-less events have none.

    Reads the entity's partition of the dead-letter topic, which may take a while.
    """
    name = dead_letter_topic_name(config.app, journal)
    facts = kafka_topics(config).facts([name]).get(name)
    if facts is None:
        return
    key = persistence_id_bytes(entity.persistence_id)
    partition = partition_of(key, facts.partitions)
    for record in read_partition(kafka_settings(config), name, partition):
        number = _number(record) if record.key == key else None
        if number is not None and entity.holds(number):
            yield number, record


def parked_json(ledger: ParkedLedger) -> dict[str, Any]:
    """The whole ledger with stable keys."""
    return {
        "parked": [
            {
                "persistence_id": printable_id(entity.persistence_id),
                "first": entity.first,
                "last": entity.last,
                "events": entity.count,
                "waiting": [list(run) for run in entity.waiting],
                "reason": entity.reason,
                "parked_at_ms": entity.parked_at_ms,
                "requested": entity.persistence_id in ledger.requests,
            }
            for entity in _oldest_first(ledger)
        ],
        "discarded": [
            {
                "persistence_id": printable_id(pid),
                "sequence_nr": number,
                "by": request.by,
                "note": request.note,
                "requested_at_ms": request.requested_at_ms,
            }
            for (pid, number), request in ledger.discarded.items()
        ],
    }


def parked_text(journal: str, ledger: ParkedLedger, now_ms: int) -> str:
    """The ledger, one entity a line."""
    summary = summary_of(ledger)
    lines = [f"journal {journal}: {summary.entities} entities parked, {summary.events} events wait"]
    for entity in _oldest_first(ledger):
        asked = ", release asked for" if entity.persistence_id in ledger.requests else ""
        since = age((now_ms - entity.parked_at_ms) / 1000)
        lines.append(
            f"  {printable(entity.persistence_id)!r}: {entity.count} events from number "
            f"{entity.first}, parked {since} ago{asked}"
        )
        lines.append(f"    {printable(entity.reason)}")
    for (pid, number), request in ledger.discarded.items():
        moment = datetime.fromtimestamp(request.requested_at_ms / 1000, UTC)
        note = f": {request.note}" if request.note else ""
        lines.append(
            f"  discarded {printable(pid)!r}/{number} by {printable(request.by)} at "
            f"{moment.isoformat(timespec='seconds')}{printable(note)}"
        )
    return "\n".join(lines)


def letter_text(number: int, record: TailedRecord, *, payload: bool) -> str:
    """A dead letter: what it is, why it waits, and its payload if asked for."""
    shown = {name: printable(value) for name, value in _about(record)}
    lines = [f"{number}: {shown.pop(REASON_HEADER, '')}"]
    lines += [f"  {name}: {value}" for name, value in shown.items()]
    if payload:
        lines.append(f"  {printable((record.value or b'').decode(errors='backslashreplace'))}")
    return "\n".join(lines)


def letter_json(number: int, record: TailedRecord, *, payload: bool) -> dict[str, Any]:
    """The same with stable keys."""
    headers = dict(_about(record))
    found = {
        "sequence_nr": number,
        "reason": headers.pop(REASON_HEADER, None),
        "payload_bytes": int(headers.pop(SIZE_HEADER, "0")),
        "payload_kept": headers.pop(PAYLOAD_HEADER, None),
        "headers": headers,
    }
    if payload:
        found["payload"] = (record.value or b"").decode(errors="backslashreplace")
    return found


def printable_id(persistence_id: str) -> str:
    """An id as text that any terminal and any JSON can hold."""
    return persistence_id.encode("utf-8", "backslashreplace").decode()


def _oldest_first(ledger: ParkedLedger) -> list[ParkedEntity]:
    return sorted(ledger.entities.values(), key=lambda entity: entity.parked_at_ms)


def _about(record: TailedRecord) -> Iterator[tuple[str, str]]:
    for name, value in record.headers.items():
        if name not in ("ce_specversion", "ce_subject", "ce_partitionkey"):
            yield name, value.decode(errors="backslashreplace")


def _number(record: TailedRecord) -> int | None:
    text = record.headers.get("ce_sequence", b"")
    return int(text) if text.isdigit() else None
