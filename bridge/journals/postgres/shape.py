"""The columns that a table must have, as sentences about what differs."""

from collections.abc import Iterable, Mapping, Sequence

from bridge.journals.postgres.catalog import Column
from bridge.journals.postgres.table import JournalTable

__all__ = ["wrong_columns", "wrong_read_columns"]

_TEXT = ("text", "character varying")
_COUNT = ("bigint", "integer")

_EVENTS: Mapping[str, Sequence[str]] = {
    "persistence_id": ("text",),
    "sequence_nr": ("bigint",),
    "event_type": ("text",),
    "content_type": ("text",),
    "payload": ("bytea",),
    "tags": ("text[]",),
    "metadata": ("jsonb",),
    "timestamp_ms": ("bigint",),
    "txid": ("xid8",),
    "ordering": ("bigint",),
}
_ACTOR_TS: Mapping[str, Sequence[str]] = {
    "persistence_id": _TEXT,
    "sequence_nr": _COUNT,
    "payload": _TEXT,
    "tags": _TEXT,
    "timestamp": _COUNT,
}


def wrong_columns(table: JournalTable, found: Iterable[Column]) -> list[str]:
    """What the journal itself lacks, each naming column, what was found and what is expected."""
    return _differences(_EVENTS if table.layout == "bridge" else _ACTOR_TS, found)


def wrong_read_columns(table: JournalTable, found: Iterable[Column]) -> list[str]:
    """The same for the table that the relay reads, with the columns that carry the order."""
    order = {table.txid_column: ("xid8",), table.ordering_column: ("bigint",)}
    return _differences({**(_EVENTS if table.layout == "bridge" else _ACTOR_TS), **order}, found)


def _differences(expected: Mapping[str, Sequence[str]], found: Iterable[Column]) -> list[str]:
    types = {column.name: column.type for column in found}
    return [
        f"column {name}: found {types.get(name, 'no such column')}, expected {' or '.join(wanted)}"
        for name, wanted in expected.items()
        if types.get(name) not in wanted
    ]
