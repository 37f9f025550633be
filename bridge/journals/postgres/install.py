"""Preparing a database for the relay, and taking everything away again."""

import json
from collections.abc import Callable

import psycopg
from psycopg import errors, sql

from bridge.errors import SetupError
from bridge.journals.postgres import catalog, ddl
from bridge.journals.postgres.catalog import Connection
from bridge.journals.postgres.patience import Patience, execute
from bridge.journals.postgres.shape import wrong_columns
from bridge.journals.postgres.statements import compose
from bridge.journals.postgres.steps import Step
from bridge.journals.postgres.table import INSERT_TRIGGER, STATE_TABLE, JournalTable, Relation

__all__ = ["MIN_SERVER_VERSION", "install", "installed", "plan_for", "uninstall"]

MIN_SERVER_VERSION = 130000
"""BEFORE row triggers on partitioned tables and the 64-bit xid8 came with PostgreSQL 13."""

_HOLDS_ROWS = "BRG01"


def plan_for(
    conn: Connection, table: JournalTable, *, relay_role: str | None = None
) -> tuple[str, ...]:
    """The statements that `install` would execute in this database now.

    Raises:
        SetupError: see `install`.
    """
    return ddl.plan(table, relay_role, _precheck(conn, table))


def install(
    conn: Connection,
    table: JournalTable,
    *,
    pause: Callable[[], None],
    limit_s: float,
    relay_role: str | None = None,
) -> None:
    """Prepare the database; may run again at any time, also after it was cut off.

    The current role has to own an existing journal and may create in its schema; no superuser is
    needed. Writers may go on writing.

    Args:
        conn: autocommit connection to the writable primary.
        pause: waits a short random time between two tries to get a lock (`random_pause`).
        limit_s: seconds after which a lock that cannot be had is an error.
        relay_role: role that gets what the relay needs, if it is not the current one.

    Raises:
        SetupError: the server, the table or the rights of the current role are not as required,
            another journal has been installed in the schema, or a lock could not be had.
    """
    _require_autocommit(conn)
    members = _precheck(conn, table)
    _execute(conn, table, ddl.installation(table, relay_role, members), Patience(pause, limit_s))


def uninstall(
    conn: Connection,
    table: JournalTable,
    *,
    pause: Callable[[], None],
    limit_s: float,
    relay_role: str | None = None,
    drop_events: bool = False,
    relay: tuple[str, str] | None = None,
) -> None:
    """Remove what `install` made: the schema of a foreign journal is as it was found.

    Args:
        relay_role: role whose rights on the journal and on its schema are taken back.
        drop_events: drop `bridge_events` (layout `bridge`) even if it holds rows.
        relay: (app, journal) whose rows in `bridge_state` (its witness) go, too; the table
            itself goes when it is empty then.

    Raises:
        SetupError: `bridge_events` holds rows, or a lock could not be had.
    """
    _require_autocommit(conn)
    step = ddl.removal(table, relay_role, drop_events, relay)
    _execute(conn, table, [step], Patience(pause, limit_s))


def installed(conn: Connection, table: JournalTable) -> dict[str, dict[str, object]]:
    """The installations recorded in the schema's `bridge_state`, by journal table."""
    if catalog.relation(conn, table.schema, STATE_TABLE) is None:
        return {}
    state = sql.Identifier(table.schema, STATE_TABLE)
    rows = conn.execute(compose("state", "installs", state=state).encode()).fetchall()
    return {str(journal): json.loads(value) for journal, value in rows}


def _execute(conn: Connection, table: JournalTable, steps: list[Step], patience: Patience) -> None:
    try:
        execute(conn, table, steps, patience)
    except errors.InsufficientPrivilege as error:
        raise SetupError(
            f"role {conn.info.user} lacks a right on {table.shown}: {error.diag.message_primary}",
            "run this as the owner of the journal",
        ) from error
    except errors.UndefinedObject as error:
        raise SetupError(f"{error.diag.message_primary}", "create the role first") from error
    except psycopg.Error as error:
        if error.sqlstate != _HOLDS_ROWS:
            raise
        raise SetupError(
            f"{table.shown} holds rows; it was not dropped",
            "say that the events may be dropped, if they may",
        ) from error


def _require_autocommit(conn: Connection) -> None:
    if not conn.autocommit:
        raise ValueError("installing needs an autocommit connection: it sends BEGIN itself")


def _precheck(conn: Connection, table: JournalTable) -> list[Relation]:
    """Refuse what cannot work before anything is touched; the partition tree is the result."""
    _require_server(conn)
    _require_schema(conn, table)
    _require_alone(conn, table)
    journal = catalog.relation(conn, table.schema, table.table)
    if journal is None:
        if table.layout == "bridge":
            return []
        raise SetupError(f"table {table.shown} does not exist", "let the application create it")
    _require_usable(table, journal)
    problems = wrong_columns(table, catalog.columns(conn, journal.oid))
    if problems:
        raise SetupError(f"{table.shown} is not a journal of layout {table.layout}: {problems[0]}")
    members = catalog.members(conn, journal.oid)
    if table.install == "columns":
        _require_last_trigger(conn, table, members)
    return members


def _require_server(conn: Connection) -> None:
    if conn.info.server_version < MIN_SERVER_VERSION:
        raise SetupError(
            f"PostgreSQL {conn.info.server_version // 10000} is too old, 13 is needed",
            "upgrade the server",
        )
    row = conn.execute("SELECT pg_is_in_recovery()").fetchone()
    if row is not None and row[0]:
        raise SetupError(
            f"{conn.info.host}:{conn.info.port} is a standby", "connect to the writable primary"
        )


def _require_schema(conn: Connection, table: JournalTable) -> None:
    schema = catalog.schema(conn, table.schema)
    if schema is None:
        raise SetupError(f"schema {table.schema} does not exist", "create it first")
    if not schema.may_create:
        raise SetupError(
            f"role {conn.info.user} may not create anything in schema {table.schema}",
            f"GRANT CREATE, USAGE ON SCHEMA {table.schema} to it",
        )


def _require_alone(conn: Connection, table: JournalTable) -> None:
    """The names of our objects are fixed, so a schema has room for one foreign journal."""
    for journal, record in installed(conn, table).items():
        if record["layout"] != table.layout or table.layout == "bridge":
            continue
        if journal != table.table or record["install"] != table.install:
            raise SetupError(
                f"schema {table.schema} has install {record['install']} for table {journal}",
                "uninstall that first; each further journal needs a schema of its own",
            )


def _require_usable(table: JournalTable, journal: catalog.Found) -> None:
    if journal.kind not in {"r", "p"}:
        raise SetupError(f"{table.shown} is not a table", "name the table that is written to")
    if table.layout == "actor-ts" and not journal.owned:
        raise SetupError(
            f"{table.shown} belongs to role {journal.owner}, its triggers are for the owner to set",
            "run this as the owner of the table, or as a member of that role",
        )


def _require_last_trigger(conn: Connection, table: JournalTable, members: list[Relation]) -> None:
    ours = INSERT_TRIGGER["columns"]
    for trigger in catalog.triggers(conn, [member.oid for member in members]):
        if trigger.before_insert_row and trigger.name.encode() > ours.encode():
            raise SetupError(
                f"BEFORE trigger {trigger.name} on {table.shown} would fire after {ours}",
                "rename it, or use install outbox",
            )
