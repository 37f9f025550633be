"""A PostgreSQL journal as :class:`bridge.journals.health.JournalHealth` describes it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from bridge.core.cursor import JournalIdentity
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.errors import OperatorError
from bridge.journals.health import Blocker, Lag
from bridge.journals.postgres.catalog import relation_oids
from bridge.journals.postgres.identity import IdentityKeeper
from bridge.journals.postgres.session import connect, database_errors
from bridge.journals.postgres.statements import compose, load, parameter_safe
from bridge.journals.postgres.table import JournalTable

__all__ = ["PostgresHealth"]

_FILE = "health"
_Fragment = tuple[str, dict[str, Any]]


class PostgresHealth:
    """Looks at one journal table over a read-only session of its own.

    Args:
        url: address of the writable primary.
    """

    def __init__(self, app: str, name: str, url: str, table: JournalTable) -> None:
        self._url = url
        self._table = table
        self._identity = IdentityKeeper(app, name, table.schema)
        self._conn: Connection[TupleRow] | None = None
        self._names: dict[str, sql.Composable] = {
            "table": parameter_safe(table.schema, table.read_table),
            "journal": parameter_safe(table.schema, table.table),
            "txid": parameter_safe(table.txid_column),
            "ordering": parameter_safe(table.ordering_column),
            "time": sql.Identifier("timestamp_ms" if table.layout == "bridge" else "timestamp"),
        }

    def identity_problem(self, named: JournalIdentity) -> str | None:
        """See the port."""
        with self._session() as conn:
            try:
                self._identity.establish(conn, named)
            except OperatorError as e:
                return e.what
            return None

    def lag(self, position: Position | None, limit: int) -> Lag:
        """See the port."""
        text, params = self._rows_behind(position)
        statement = compose(_FILE, "lag", rows=sql.SQL(text), limit=sql.Literal(limit))
        with self._session() as conn:
            found = conn.execute(statement.encode(), params).fetchone()
        rows, oldest_ms, newest_ms = found or (0, None, None)
        return Lag(rows, rows >= limit, oldest_ms, newest_ms)

    def blockers(self) -> Sequence[Blocker]:
        """See the port."""
        with self._session() as conn:
            oids = relation_oids(conn, self._table.schema, [self._table.read_table])
            rows = conn.execute(load(_FILE)["blockers"].encode(), {"oids": oids}).fetchall()
        return [Blocker(*row) for row in rows]

    def tags(self, row_limit: int, tag_limit: int) -> Sequence[str]:
        """See the port."""
        array = "tags" if self._table.layout == "bridge" else "string_to_array(tags, ',')"
        statement = compose(_FILE, "tags", tag_array=sql.SQL(array), **self._names)
        with self._session() as conn:
            rows = conn.execute(statement.encode(), {"rows": row_limit, "tags": tag_limit})
            return sorted(tag for (tag,) in rows)

    def close(self) -> None:
        """See the port."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _rows_behind(self, position: Position | None) -> _Fragment:
        match position:
            case None:
                return self._every_row(None)
            case HistoryPosition():
                return self._every_row(position)
            case WindowPosition():
                return self._after_snapshot(position)
            case SequencePosition():
                raise OperatorError(
                    f"the cursor of journal {self._table.shown} is one of ordering `sequence`",
                    "the journal's url or ordering was changed; change it back",
                )

    def _every_row(self, position: HistoryPosition | None) -> _Fragment:
        """What has an order, and the history behind the position."""
        ordered = compose(_FILE, "every_row", **self._names)
        if self._table.install is None:
            return ordered, {}
        is_history = sql.SQL(load("read")[f"is_history_{self._table.install}"]).format(
            outbox=self._names["table"], txid=self._names["txid"]
        )
        after = position.after if position else None
        keyset = ""
        if position is not None and after is not None:
            order = "by_entity" if position.by_entity else "by_time"
            keyset = load("read")[f"history_{order}_keyset"]
        history = compose(
            _FILE, "history", is_history=is_history, history_keyset=sql.SQL(keyset), **self._names
        )
        return f"{history} UNION ALL {ordered}", _place(after)

    def _after_snapshot(self, position: WindowPosition) -> _Fragment:
        """What the position's snapshot does not see, without the published part of its window."""
        published: sql.Composable = sql.SQL("")
        params: dict[str, Any] = {
            "old_xmax": str(position.old.xmax),
            "old_xip": [str(xid) for xid in sorted(position.old.xip)],
        }
        if position.new is not None and position.after is not None:
            published = sql.SQL(compose(_FILE, "not_published", **self._names))
            params |= {"new": str(position.new), **_place(position.after)}
        text = compose(_FILE, "rows_after_snapshot", published=published, **self._names)
        return text, params

    @contextmanager
    def _session(self) -> Iterator[Connection[TupleRow]]:
        if self._conn is None:
            self._conn = connect(self._url, "bridge status")
            self._conn.execute(load(_FILE)["settings"].encode())
        with database_errors(f"looking at journal {self._table.shown}"):
            yield self._conn


def _place(after: tuple[int | str, ...] | None) -> dict[str, Any]:
    return {f"after_{i}": part for i, part in enumerate(after or ())}
