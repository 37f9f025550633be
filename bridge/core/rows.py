"""What a journal delivers: events, and pages of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bridge.core.positions import Place, Position

__all__ = ["JournalRow", "Page", "RowKey"]


class RowKey(NamedTuple):
    """Identity of an event: unique within a journal."""

    persistence_id: str
    sequence_nr: int


class JournalRow(NamedTuple):
    """One committed event as a journal adapter delivers it.

    A named tuple because millions of these are made: it is the cheapest immutable record.

    Attributes:
        persistence_id: the entity; becomes the record key as UTF-8 bytes.
        sequence_nr: number of the event within the entity.
        payload: bytes as stored (text columns as UTF-8); None only if the journal stores NULL.
        tags: tags in stored order, without duplicates or empty strings.
        timestamp_ms: the event's own time, milliseconds since 1970-01-01 UTC; any 64-bit integer.
        event_type: type or manifest if the layout knows one.
        content_type: media type of the payload if the layout knows one.
        metadata: further string pairs stored with the event (``traceparent``, …), sorted by key.
        place: sort key of the row within its window; what a position points behind.
    """

    persistence_id: str
    sequence_nr: int
    payload: bytes | None
    tags: tuple[str, ...]
    timestamp_ms: int
    event_type: str | None
    content_type: str | None
    metadata: tuple[tuple[str, str], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in publishing order, and where they are in the journal.

    Attributes:
        rows: the rows, possibly none.
        window: position that the rows' places refine: behind row `i` the relay stands at
            ``window.behind(rows[i].place)``.
        end: position behind all rows; further than the last row's when its window is used up.
        drained: True when the page ends a window taken since the journal was attached, so that
            everything committed before the attachment lies at or before `end`.
    """

    rows: Sequence[JournalRow]
    window: Position
    end: Position
    drained: bool
