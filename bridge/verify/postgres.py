"""A PostgreSQL journal as one repeatable-read snapshot shows it."""

from collections.abc import Iterator
from typing import Any

from psycopg import Connection, ServerCursor, sql
from psycopg.rows import TupleRow

from bridge.core.cursor import Cursor
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS
from bridge.errors import OperatorError, SetupError
from bridge.journals.postgres import catalog
from bridge.journals.postgres.session import connect, database_errors
from bridge.journals.postgres.statements import compose
from bridge.journals.postgres.table import JournalTable
from bridge.verify.source import RowState, SourceRow
from bridge.verify.tags import tag_reader

__all__ = ["PostgresSource"]

BLOCK_ROWS = 5_000
"""Rows fetched at a time."""

_FILE = "verify"


class PostgresSource:
    """See :class:`bridge.verify.source.VerifySource`.

    Args:
        url: address of the primary; a standby may not have yet what is in the topics.
        cursor: where the relay stands; None: it never committed anything.
    """

    def __init__(self, url: str, table: JournalTable, cursor: Cursor | None) -> None:
        self._table = table
        self._read_tags = tag_reader(table.layout)
        self._position = cursor.position if cursor else None
        self._origin = cursor.origin if cursor else None
        for position in (self._position, self._origin):
            _require_fitting(position, table)
        self._conn: Connection[TupleRow] = connect(url, "bridge verify")
        with self._errors():
            row = self._conn.execute(compose(_FILE, "is_standby").encode()).fetchone()
            if row is None or row[0]:
                raise SetupError(
                    f"journal {table.shown}: the server is a standby, which may lag behind",
                    "give the address of the primary",
                )
            self._conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def rows(self) -> Iterator[SourceRow]:
        """See the port."""
        read_tags = self._read_tags
        for pid, seq, tags, state, gone in self._stream(self._rows_statement(), self._params()):
            yield SourceRow(pid.encode(), seq, read_tags(tags), state, gone)

    def kept_from(self) -> Iterator[tuple[bytes, int]]:
        """See the port."""
        for pid, first in self._stream(self._kept_statement(), {}):
            yield pid.encode(), first

    def close(self) -> None:
        """See the port."""
        self._conn.close()

    def _errors(self) -> Any:
        return database_errors(f"verifying journal {self._table.shown}")

    def _stream(self, statement: str, params: dict[str, Any]) -> Iterator[TupleRow]:
        with self._errors(), ServerCursor(self._conn, "bridge_verify") as cursor:
            cursor.execute(statement.encode(), params, binary=True)
            while block := cursor.fetchmany(BLOCK_ROWS):
                yield from block

    def _rows_statement(self) -> str:
        table = self._table
        return compose(
            _FILE,
            f"rows_{table.install or 'bridge'}",
            journal=self._journal,
            outbox=sql.Identifier(table.schema, table.read_table),
            state=sql.SQL(
                compose(
                    _FILE,
                    "state",
                    txid=sql.Identifier(table.txid_column),
                    ordering=sql.Identifier(table.ordering_column),
                )
            ),
            history_state=self._history_state(),
        )

    def _history_state(self) -> sql.Composable:
        """State of rows from before the installation, which no snapshot can tell about."""
        position = self._position
        if isinstance(position, HistoryPosition) and position.after is not None:
            row = "journal" if self._table.install == "outbox" else "placed"
            order = "by_entity" if position.by_entity else "by_time"
            return sql.SQL(compose(_FILE, f"history_{order}", row=sql.Identifier(row)))
        if isinstance(position, WindowPosition):
            never_meant = isinstance(self._origin, WindowPosition) and self._origin.old != GENESIS
            state = RowState.BEFORE_START if never_meant else RowState.EXPECTED
            return sql.Literal(int(state))
        return sql.Literal(int(RowState.PENDING))

    def _params(self) -> dict[str, Any]:
        position, origin = self._position, self._origin
        window = position if isinstance(position, WindowPosition) else WindowPosition(GENESIS)
        began = origin.old if isinstance(origin, WindowPosition) else GENESIS
        params: dict[str, Any] = {
            "origin": str(began),
            "old": str(window.old),
            "new": str(window.new or window.old),
        }
        # Without a place nothing of the window in progress is published: NULL compares so.
        params |= zip(("ordering", "pid", "seq"), window.after or (None,) * 3, strict=True)
        if isinstance(position, HistoryPosition) and position.after is not None:
            *time, pid, seq = position.after
            params |= {"time": time[0] if time else None, "history_pid": pid, "history_seq": seq}
        return params

    def _kept_statement(self) -> str:
        table = self._table
        if table.layout == "actor-ts":
            name = f"{table.table}_meta"
            meta = catalog.relation(self._conn, table.schema, name)
            if meta and not catalog.missing_privileges(self._conn, meta.oid, ["SELECT"]):
                identifier = sql.Identifier(table.schema, name)
                return compose(_FILE, "kept_with_meta", journal=self._journal, meta=identifier)
        return compose(_FILE, "kept", journal=self._journal)

    @property
    def _journal(self) -> sql.Identifier:
        return sql.Identifier(self._table.schema, self._table.table)


def _require_fitting(position: Position | None, table: JournalTable) -> None:
    if isinstance(position, SequencePosition):
        raise OperatorError(
            f"the cursor of journal {table.shown} is one of ordering `sequence`",
            "the journal's url or ordering was changed; change it back",
        )
