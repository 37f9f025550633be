"""What is installed for which table, and what the objects of an installation are called."""

from dataclasses import dataclass
from typing import Literal

from bridge.errors import ConfigError

__all__ = [
    "COLUMNS_INDEX",
    "INSERT_TRIGGER",
    "STATE_TABLE",
    "UPDATE_TRIGGER",
    "Install",
    "JournalTable",
    "Layout",
    "Relation",
]

Layout = Literal["bridge", "actor-ts"]
Install = Literal["outbox", "columns"]

STATE_TABLE = "bridge_state"
INSERT_TRIGGER = {"outbox": "bridge_outbox_copy", "columns": "zzzz_bridge_columns"}
"""Trigger that sees each insert; the BEFORE trigger of `columns` must be the last by name."""
UPDATE_TRIGGER = "zzzz_bridge_moving"
"""Trigger of `columns` that recognises a row which is moved between partitions."""
COLUMNS_INDEX = "bridge_columns_position"

_MAX_NAME_BYTES = 63
_DOLLAR_QUOTE = "$bridge$"


@dataclass(frozen=True)
class JournalTable:
    """A journal table in PostgreSQL and how bridge gets at its order.

    Attributes:
        layout: shape of the table.
        install: how an `actor-ts` table gets its order; None for layout `bridge`.
        schema: schema of the table and of everything that bridge adds.
        table: the journal itself, the table that applications write to.

    Raises:
        ConfigError: `install` does not belong to the layout, or a name is impossible.
    """

    layout: Layout
    install: Install | None
    schema: str
    table: str

    def __post_init__(self) -> None:
        if (self.layout == "actor-ts") != (self.install is not None):
            raise ConfigError(
                f"install {self.install!r} does not fit layout {self.layout!r}",
                "layout actor-ts takes install outbox or columns, layout bridge takes none",
            )
        if self.layout == "bridge" and self.table != "bridge_events":
            raise ConfigError(
                f"layout bridge has its events in bridge_events, not in {self.table!r}",
                "leave the table name out",
            )
        for name in (self.schema, self.table):
            _require_possible(name)

    @property
    def read_table(self) -> str:
        """Name of the table that the relay reads, in `schema`."""
        return "bridge_outbox" if self.install == "outbox" else self.table

    @property
    def txid_column(self) -> str:
        """Column of `read_table` with the inserting transaction (xid8)."""
        return "bridge_txid" if self.install == "columns" else "txid"

    @property
    def ordering_column(self) -> str:
        """Column of `read_table` that rises with each insert (bigint)."""
        return "bridge_ordering" if self.install == "columns" else "ordering"

    @property
    def sequence(self) -> str:
        """Name of the sequence behind `ordering_column`, in `schema`."""
        base = "bridge_columns" if self.install == "columns" else self.read_table
        return f"{base}_ordering_seq"

    @property
    def shown(self) -> str:
        """The journal as errors name it."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class Relation:
    """A member of a partition tree; a plain table is a tree of one leaf.

    Attributes:
        parent: oid of the member that this one is a partition of; None for the root.
        leaf: True when the member holds rows itself.
        attached: True when its index is a partition of the index of `columns` already.
        invalid: True when a build of its index was cut off and has left an INVALID one.
    """

    oid: int
    schema: str
    name: str
    parent: int | None
    leaf: bool
    attached: bool
    invalid: bool

    @property
    def index(self) -> str:
        """Name of the index of `columns` on this member, in its schema."""
        return COLUMNS_INDEX if self.parent is None else f"{COLUMNS_INDEX}_{self.oid}"


def _require_possible(name: str) -> None:
    if not name or "\0" in name or len(name.encode()) > _MAX_NAME_BYTES or _DOLLAR_QUOTE in name:
        raise ConfigError(
            f"{name!r} cannot be a table or schema name here",
            f"use 1 to {_MAX_NAME_BYTES} bytes without NUL and without {_DOLLAR_QUOTE}",
        )
