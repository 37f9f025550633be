"""The reading statements of one journal table, with the parameters of a position."""

from dataclasses import dataclass
from typing import Any

from psycopg import sql

from bridge.core.positions import HistoryPosition, Place, WindowPosition
from bridge.core.snapshot import PgSnapshot
from bridge.journals.layouts import RowMaker, actor_ts_rows, bridge_rows
from bridge.journals.postgres.statements import compose, load, parameter_safe
from bridge.journals.postgres.table import JournalTable

__all__ = ["Query", "ReadQueries"]

_FILE = "read"
_INFINITE_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Query:
    """A statement without LIMIT and its parameters."""

    text: str
    params: dict[str, Any]


class ReadQueries:
    """Statements for one table.

    Args:
        inline_bytes: payloads above this size are withheld from pages and fetched one by one, so
            that a page of unexpectedly large events cannot fill the memory.
    """

    def __init__(self, table: JournalTable, inline_bytes: int) -> None:
        self._table = table
        self._inline = {"inline_bytes": inline_bytes}
        name = table.layout.replace("-", "_")
        self._columns = sql.SQL(compose(_FILE, f"columns_{name}"))
        self._names = {
            "table": parameter_safe(table.schema, table.read_table),
            "txid": sql.Identifier(table.txid_column),
            "ordering": sql.Identifier(table.ordering_column),
        }
        self.payload = compose(_FILE, f"payload_{name}", table=self._names["table"])
        self.history_payload = compose(_FILE, f"payload_{name}", table=self._journal)

    @property
    def row_maker(self) -> RowMaker:
        """How raw rows of these statements become journal rows."""
        return bridge_rows() if self._table.layout == "bridge" else actor_ts_rows()

    @property
    def has_history(self) -> bool:
        """Whether the layout can hold rows from before the installation."""
        return self._table.install is not None

    def page(self, position: WindowPosition | HistoryPosition) -> Query:
        """Rows of the window or history in progress, behind the position's place."""
        if isinstance(position, WindowPosition):
            return self._window(position)
        order = "by_entity" if position.by_entity else "by_time"
        text = compose(
            _FILE,
            f"history_{order}",
            columns=self._columns,
            table=self._journal,
            is_history=self._is_history,
            keyset=self._keyset(f"history_{order}_keyset", position.after),
        )
        return Query(text, {**self._inline, **_place(position.after)})

    def entity(self, persistence_id: str, first: int, last: int) -> Query:
        """Events of one entity with numbers from `first` to `last`."""
        params = {**self._inline, "pid": persistence_id, "first": first, "last": last}
        names = {"columns": self._columns, "table": self._names["table"]}
        if self._table.install != "outbox":
            return Query(compose(_FILE, "entity", **names), params)
        names |= {"journal": self._journal, "is_history": self._is_history}
        return Query(compose(_FILE, "entity_outbox", **names), params)

    def times_go_back(self) -> Query:
        """Whether event times go backwards within an entity of the history."""
        text = compose(_FILE, "times_go_back", table=self._journal, is_history=self._is_history)
        return Query(text, {})

    def recent(self, position: WindowPosition, limit: int) -> list[Query]:
        """Keys published last before `position`, newest first."""
        params = {**_snapshots(position), "limit": limit}
        behind = [Query(compose(_FILE, "recent", **self._names), params)]
        if position.after is not None:
            text = compose(_FILE, "window_behind", **self._names)
            behind.insert(0, Query(text, {**params, **_place(position.after)}))
        return behind

    def _window(self, position: WindowPosition) -> Query:
        text = compose(
            _FILE,
            "window",
            columns=self._columns,
            keyset=self._keyset("window_keyset", position.after),
            **self._names,
        )
        return Query(text, {**self._inline, **_snapshots(position), **_place(position.after)})

    @property
    def _journal(self) -> sql.Identifier:
        return parameter_safe(self._table.schema, self._table.table)

    @property
    def _is_history(self) -> sql.Composable:
        text = load(_FILE)[f"is_history_{self._table.install}"]
        return sql.SQL(text).format(outbox=self._names["table"], txid=self._names["txid"])

    def _keyset(self, name: str, after: Place | None) -> sql.Composable:
        if after is None:
            return sql.SQL("")
        return sql.SQL(load(_FILE)[name]).format(ordering=self._names["ordering"])


def _snapshots(position: WindowPosition) -> dict[str, Any]:
    old, new = position.old, position.new or position.old
    return {
        "old": str(old),
        "old_xmax": str(old.xmax),
        "old_xip": _array(old),
        "new": str(new),
        "new_xmax": str(new.xmax),
    }


def _array(snapshot: PgSnapshot) -> str:
    return "{" + ",".join(map(str, sorted(snapshot.xip))) + "}"


def _place(after: Place | None) -> dict[str, Any]:
    return {f"after_{i}": part for i, part in enumerate(after or ())}
