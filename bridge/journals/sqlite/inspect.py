"""Is a file prepared for the relay?"""

import json
import sqlite3
from collections.abc import Iterator

from bridge.journals.findings import Finding, Inspection, error, warning
from bridge.journals.named_sql import named_statements
from bridge.journals.sqlite.shape import (
    columns,
    is_autoincrement,
    table_exists,
    without_rowid,
    wrong_columns,
)
from bridge.journals.sqlite.table import INSERT_TRIGGER, STATE_TABLE, SqliteTable

__all__ = ["inspect", "installed", "order_problem"]

_INIT = "run `bridge init`"


def inspect(conn: sqlite3.Connection, table: SqliteTable) -> Inspection:
    """Look at everything that the relay depends on; changes nothing."""
    return Inspection(tuple(_findings(conn, table)))


def installed(conn: sqlite3.Connection) -> dict[str, dict[str, object]]:
    """The installations recorded in `bridge_state`, by journal table."""
    if not table_exists(conn, STATE_TABLE):
        return {}
    rows = conn.execute(named_statements(__package__, "state")["installs"])
    return {journal: json.loads(value) for journal, value in rows}


def order_problem(conn: sqlite3.Connection, name: str) -> Finding | None:
    """Why the order of a table's rows cannot be relied on, None if it can."""
    if is_autoincrement(conn, name):
        return None
    found = "is WITHOUT ROWID" if without_rowid(conn, name) else "is not AUTOINCREMENT"
    return error(
        f"{name} {found}: SQLite would hand out the numbers of deleted rows again, and their "
        "events would never be seen",
        "copy the rows, in order, into a table with `ordering INTEGER PRIMARY KEY AUTOINCREMENT`, "
        "as `bridge init --dry-run` shows it",
    )


def _findings(conn: sqlite3.Connection, table: SqliteTable) -> Iterator[Finding]:
    if not table_exists(conn, STATE_TABLE):
        yield error(f"table {STATE_TABLE} does not exist", _INIT)
    if not table_exists(conn, table.table):
        yield error(f"table {table.table} does not exist", _INIT)
        return
    for problem in wrong_columns(conn, table.layout, table.table):
        yield error(f"{table.table}: {problem}", "correct layout and table, or mend the table")
    if table.install is not None:
        yield from _check_outbox(conn, table)
    elif problem_of_order := order_problem(conn, table.table):
        yield problem_of_order
    yield from _check_mode(conn)


def _check_outbox(conn: sqlite3.Connection, table: SqliteTable) -> Iterator[Finding]:
    if not table_exists(conn, table.read_table):
        yield error(f"table {table.read_table} does not exist", _INIT)
        return
    if problem := order_problem(conn, table.read_table):
        yield problem
    for wrong in wrong_columns(conn, table.layout, table.read_table):
        yield error(f"{table.read_table}: {wrong}", "`bridge uninstall`, then `bridge init`")
    query = "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = ?"
    row = conn.execute(query, (INSERT_TRIGGER,)).fetchone()
    if row is None:
        yield error(f"trigger {INSERT_TRIGGER} does not exist: new events are not seen", _INIT)
    elif row[0].lower() != table.table.lower():
        yield error(
            f"trigger {INSERT_TRIGGER} is on table {row[0]}, not on {table.table}",
            "name that table, or run `bridge uninstall` for it first",
        )
    if not {"persistence_id", "sequence_nr"} <= _key(conn, table.table):
        yield warning(
            f"{table.table} has no primary key of persistence_id and sequence_nr",
            "reading its history may be slow",
        )


def _key(conn: sqlite3.Connection, name: str) -> set[str]:
    return {column for column, place in columns(conn, name).items() if place}


def _check_mode(conn: sqlite3.Connection) -> Iterator[Finding]:
    mode = conn.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        yield warning(
            f"journal_mode is {mode}: the relay and the writers wait for each other",
            "let the application set `PRAGMA journal_mode = WAL`",
        )
