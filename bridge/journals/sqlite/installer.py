"""The installer port for SQLite: a connection of its own for each call."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bridge.errors import SetupError
from bridge.journals.findings import Inspection
from bridge.journals.named_sql import named_statements
from bridge.journals.sqlite.identity import read_state, write_state
from bridge.journals.sqlite.inspect import inspect, installed, order_problem
from bridge.journals.sqlite.session import connect, database_errors, immediate
from bridge.journals.sqlite.shape import table_exists, without_rowid, wrong_columns
from bridge.journals.sqlite.table import STATE_TABLE, SqliteTable
from bridge.journals.witness import new_token

__all__ = ["SqliteInstaller"]

_INSTALLED_ROWID = "installed_rowid"


class SqliteInstaller:
    """See :class:`bridge.journals.base.Installer`. SQLite has no roles: `relay_role` is refused."""

    def __init__(self, app: str, name: str, url: str, table: SqliteTable) -> None:
        self._relay = (app, name)
        self._url = url
        self._table = table

    def plan(self, relay_role: str | None) -> Sequence[str]:
        """See the port."""
        _refuse_role(relay_role)
        with self._connection() as conn:
            self._precheck(conn)
        return self._statements()

    def install(self, relay_role: str | None) -> None:
        """See the port."""
        _refuse_role(relay_role)
        with self._connection() as conn, immediate(conn):
            self._precheck(conn)
            for statement in self._statements():
                conn.execute(statement)
            self._record(conn)

    def removal_plan(self, relay_role: str | None, *, drop_events: bool) -> Sequence[str]:
        """See the port; `bridge_state` goes only when nothing else is in it."""
        _refuse_role(relay_role)
        kept = "" if drop_events or self._table.install else " -- only if it is empty"
        *statements, last = self._drops()
        forgets = [
            f"DELETE FROM {STATE_TABLE} WHERE app = {_literal(app)} AND journal = "
            f"{_literal(journal)}"
            for app, journal in self._owners()
        ]
        return [*statements, last + kept, *forgets, self._sql("drop_state")]

    def uninstall(self, relay_role: str | None, *, drop_events: bool) -> None:
        """See the port. Only `sqlite_sequence`, which SQLite itself made, cannot be removed."""
        _refuse_role(relay_role)
        with self._connection() as conn, immediate(conn):
            if not drop_events:
                self._require_no_events(conn)
            for statement in self._drops():
                conn.execute(statement)
            if table_exists(conn, STATE_TABLE):
                self._forget(conn)

    def inspect(self) -> Inspection:
        """See the port."""
        with self._connection() as conn:
            return inspect(conn, self._table)

    def bypassed(self, limit: int) -> int:
        """See the port.

        New rows are told by SQLite's implicit row number, so that rows of a table WITHOUT ROWID
        are not counted.
        """
        with self._connection() as conn:
            state = read_state(conn, "", self._table.table)
            if self._table.install is None or _INSTALLED_ROWID not in state:
                return 0
            params = {"installed": int(state[_INSTALLED_ROWID]), "limit": limit}
            return int(conn.execute(self._sql("bypassed"), params).fetchone()[0])

    # --- installing ------------------------------------------------------------------------

    def _precheck(self, conn: sqlite3.Connection) -> None:
        """Refuse what cannot work before anything is touched."""
        table = self._table
        self._require_alone(conn)
        if not table_exists(conn, table.table):
            if table.install is None:
                return
            raise SetupError(
                f"table {table.table} does not exist", "let the application create it first"
            )
        problems = wrong_columns(conn, table.layout, table.table)
        if problems:
            raise SetupError(
                f"{table.table} is not a journal of layout {table.layout}: {problems[0]}",
                "correct layout and table in the configuration",
            )
        if table_exists(conn, table.read_table) and (
            problem := order_problem(conn, table.read_table)
        ):
            raise SetupError(problem.what, problem.hint)

    def _require_alone(self, conn: sqlite3.Connection) -> None:
        """The names of our objects are fixed, so a file has room for one foreign journal."""
        for journal, record in installed(conn).items():
            both_foreign = record["layout"] == self._table.layout == "actor-ts"
            if both_foreign and journal != self._table.table:
                raise SetupError(
                    f"the file has install {record['install']} for table {journal}",
                    "uninstall that first; a file has room for one such journal",
                )

    def _statements(self) -> list[str]:
        own = named_statements(__package__, "bridge")
        if self._table.install is None:
            return [own["create_state"], own["create_events"]]
        return [own["create_state"], self._sql("create_outbox"), self._sql("create_trigger")]

    def _record(self, conn: sqlite3.Connection) -> None:
        table = self._table
        what = {"layout": table.layout, "install": table.install, "table": table.table}
        values = {"install": json.dumps(what), "system": new_token()}
        if table.install is not None and not without_rowid(conn, table.table):
            last = conn.execute(self._sql("last_rowid")).fetchone()[0]
            values[_INSTALLED_ROWID] = str(last)
        write_state(conn, ("", table.table), values, once=True)

    # --- removing --------------------------------------------------------------------------

    def _drops(self) -> list[str]:
        trigger = [] if self._table.install is None else [self._sql("drop_trigger")]
        return [*trigger, self._sql("drop_read_table")]

    def _owners(self) -> list[tuple[str, str]]:
        return [("", self._table.table), self._relay]

    def _require_no_events(self, conn: sqlite3.Connection) -> None:
        table = self._table
        if table.install is not None or not table_exists(conn, table.table):
            return
        if conn.execute(self._sql("has_rows")).fetchone()[0]:
            raise SetupError(
                f"{table.table} holds rows; it was not dropped",
                "say that the events may be dropped, if they may",
            )

    def _forget(self, conn: sqlite3.Connection) -> None:
        for app, journal in self._owners():
            forget = named_statements(__package__, "state")["forget"]
            conn.execute(forget, {"app": app, "journal": journal})
        if conn.execute(f"SELECT count(*) FROM {STATE_TABLE}").fetchone()[0] == 0:
            conn.execute(self._sql("drop_state"))

    def _sql(self, name: str) -> str:
        return self._table.sql("install", name)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        conn = connect(self._url)
        try:
            with database_errors(f"journal {self._table.table}"):
                yield conn
        finally:
            conn.close()


def _refuse_role(relay_role: str | None) -> None:
    if relay_role is not None:
        raise SetupError(
            "SQLite has no roles", "leave the role out; rights on the file are its folder's matter"
        )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
