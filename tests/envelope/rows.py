"""Journal rows and topic facts for tests of the envelope."""

from bridge.core.rows import JournalRow
from bridge.envelope.records import TopicFacts

__all__ = ["facts", "row"]

FOREVER = 2**63 - 1


def row(
    persistence_id: str = "order-1",
    sequence_nr: int = 1,
    *,
    payload: bytes | None = b"{}",
    tags: tuple[str, ...] = ("a",),
    timestamp_ms: int = 1_700_000_000_123,
    event_type: str | None = None,
    content_type: str | None = None,
    metadata: tuple[tuple[str, str], ...] = (),
) -> JournalRow:
    """A row at place (sequence_nr,)."""
    return JournalRow(
        persistence_id,
        sequence_nr,
        payload,
        tags,
        timestamp_ms,
        event_type,
        content_type,
        metadata,
        (sequence_nr,),
    )


def facts(
    name: str,
    *,
    partitions: int = 6,
    max_message_bytes: int = 1_048_588,
    retention_ms: int = -1,
    before_ms: int = FOREVER,
    after_ms: int = FOREVER,
    append_time: bool = False,
) -> TopicFacts:
    """A topic as the relay creates it, unless told otherwise."""
    return TopicFacts(
        name,
        f"id of {name}",
        partitions,
        max_message_bytes,
        retention_ms,
        before_ms,
        after_ms,
        append_time,
    )
