"""What is read from an SQLite journal, and what the objects of an installation are called."""

from dataclasses import dataclass

from bridge.errors import ConfigError
from bridge.journals.layouts import RowMaker, actor_ts_rows, bridge_rows
from bridge.journals.named_sql import named_statements

__all__ = ["INSERT_TRIGGER", "OUTBOX", "STATE_TABLE", "SqliteTable"]

OUTBOX = "bridge_outbox"
STATE_TABLE = "bridge_state"
INSERT_TRIGGER = "bridge_outbox_copy"

_EVENTS = "bridge_events"


@dataclass(frozen=True)
class SqliteTable:
    """A journal table in an SQLite file and how bridge gets at its order.

    Attributes:
        layout: ``bridge`` or ``actor-ts``.
        install: ``outbox`` for `actor-ts`, None for `bridge`.
        table: the journal itself, the table that applications write to.

    Raises:
        ConfigError: `install` or `table` does not belong to the layout.
    """

    layout: str
    install: str | None
    table: str

    def __post_init__(self) -> None:
        if self.install == "columns":
            raise ConfigError(
                "install columns is not possible on SQLite: a column that orders rows must be its "
                "primary key",
                "use install outbox",
            )
        if (self.layout == "actor-ts") != (self.install is not None):
            raise ConfigError(
                f"install {self.install!r} does not fit layout {self.layout!r}",
                "layout actor-ts takes install outbox, layout bridge takes none",
            )
        if self.layout == "bridge" and self.table != _EVENTS:
            raise ConfigError(
                f"layout bridge has its events in {_EVENTS}, not in {self.table!r}",
                "leave the table name out",
            )

    @property
    def read_table(self) -> str:
        """Name of the table that the relay reads; its `ordering` is the position."""
        return self.table if self.install is None else OUTBOX

    @property
    def row_maker(self) -> RowMaker:
        """How raw rows of the reading statements become journal rows."""
        return bridge_rows() if self.layout == "bridge" else actor_ts_rows()

    def sql(self, file: str, name: str) -> str:
        """One statement of this package with the names of the journal filled in."""
        columns = named_statements(__package__, "read")[f"columns_{self.layout.replace('-', '_')}"]
        return named_statements(__package__, file)[name].format(
            columns=columns, journal=quoted(self.table), read_table=quoted(self.read_table)
        )


def quoted(name: str) -> str:
    """An identifier as SQL text."""
    return '"' + name.replace('"', '""') + '"'
