"""Is a database prepared for the relay, and does the current role have what the relay needs?"""

from collections.abc import Iterator

from bridge.journals.findings import Finding, Inspection, error, warning
from bridge.journals.postgres import catalog
from bridge.journals.postgres.catalog import Connection, Found
from bridge.journals.postgres.checks import (
    check_column_sources,
    check_compaction,
    check_copy,
    check_foreign_triggers,
    check_indexes,
    check_our_triggers,
    check_relation,
    check_sequence,
)
from bridge.journals.postgres.install import MIN_SERVER_VERSION, installed
from bridge.journals.postgres.shape import wrong_columns, wrong_read_columns
from bridge.journals.postgres.table import STATE_TABLE, JournalTable, Relation

__all__ = ["inspect"]

_INIT = "run `bridge init`"
_STATE_RIGHTS = ("SELECT", "INSERT", "UPDATE")


def inspect(conn: Connection, table: JournalTable) -> Inspection:
    """Look at everything that the relay depends on, as the current role; changes nothing."""
    return Inspection(tuple(_findings(conn, table)))


def _findings(conn: Connection, table: JournalTable) -> Iterator[Finding]:
    server = list(_check_server(conn))
    yield from server
    if server and conn.info.server_version < MIN_SERVER_VERSION:
        return
    schema = catalog.schema(conn, table.schema)
    if schema is None or not schema.may_use:
        yield error(
            f"role {conn.info.user} sees no schema {table.schema}",
            "create it, or grant USAGE on it",
        )
        return
    yield from _check_state(conn, table)
    journal = catalog.relation(conn, table.schema, table.table)
    if journal is None:
        yield error(f"table {table.shown} does not exist", _INIT)
        return
    yield from _check_journal(conn, table, journal)
    yield from _check_read_table(conn, table)
    yield from check_sequence(conn, table)
    yield from check_compaction(conn, table)
    yield from check_copy(table)


def _check_server(conn: Connection) -> Iterator[Finding]:
    if conn.info.server_version < MIN_SERVER_VERSION:
        yield error(
            f"PostgreSQL {conn.info.server_version // 10000} is too old, 13 is needed",
            "upgrade the server",
        )
    row = conn.execute("SELECT pg_is_in_recovery()").fetchone()
    if row is not None and row[0]:
        yield error(
            "the server is a standby: it does not know which transactions are open",
            "connect to the writable primary",
        )


def _check_state(conn: Connection, table: JournalTable) -> Iterator[Finding]:
    state = catalog.relation(conn, table.schema, STATE_TABLE)
    if state is None:
        yield error(f"table {table.schema}.{STATE_TABLE} does not exist", _INIT)
        return
    yield from check_relation(conn, f"{table.schema}.{STATE_TABLE}", state, _STATE_RIGHTS)
    if not catalog.missing_privileges(conn, state.oid, ["SELECT"]):
        yield from _check_record(conn, table)


def _check_record(conn: Connection, table: JournalTable) -> Iterator[Finding]:
    records = installed(conn, table)
    for journal, record in records.items():
        if table.install == "outbox" and record["install"] == "outbox" and journal != table.table:
            yield error(
                f"{table.schema}.{table.read_table} belongs to table {journal}, not {table.table}",
                "name that table, or move the journal to a schema of its own",
            )
    own = records.get(table.table)
    if own is None:
        yield error(f"nothing was installed for {table.shown}", _INIT)
    elif (own["layout"], own["install"]) != (table.layout, table.install):
        yield error(
            f"{table.shown} was installed as {own['layout']}, install {own['install']}",
            "name that in the configuration, or uninstall it first",
        )


def _check_journal(conn: Connection, table: JournalTable, journal: Found) -> Iterator[Finding]:
    if journal.kind not in {"r", "p"}:
        yield error(f"{table.shown} is not a table", "name the table that is written to")
        return
    yield from check_relation(conn, table.shown, journal, ["SELECT"])
    for problem in wrong_columns(table, catalog.columns(conn, journal.oid)):
        yield error(f"{table.shown}: {problem}", "is this the right table and layout?")
    members = catalog.members(conn, journal.oid)
    triggers = catalog.triggers(conn, [member.oid for member in members])
    yield from check_our_triggers(table, members, triggers)
    yield from check_foreign_triggers(table, triggers)
    yield from _check_partitions(conn, table, members)


def _check_partitions(
    conn: Connection, table: JournalTable, members: list[Relation]
) -> Iterator[Finding]:
    """Row triggers cannot be set on a foreign table, so it would take rows past ours."""
    for member in members[1:]:
        found = catalog.relation(conn, member.schema, member.name)
        shown = f"{member.schema}.{member.name}"
        if found is not None and found.kind == "f":
            yield error(
                f"partition {shown} of {table.shown} is a foreign table",
                "its transactions are not this server's; detach it",
            )
        elif found is not None and found.kind == "r" and found.persistence != "p":
            yield warning(
                f"partition {shown} of {table.shown} is not logged: a crash empties it",
                "ALTER TABLE … SET LOGGED",
            )


def _check_read_table(conn: Connection, table: JournalTable) -> Iterator[Finding]:
    shown = f"{table.schema}.{table.read_table}"
    found = catalog.relation(conn, table.schema, table.read_table)
    if found is None:
        yield error(f"table {shown} does not exist", _INIT)
        return
    if table.install == "outbox":
        yield from check_relation(conn, shown, found, ["SELECT"])
    columns = catalog.columns(conn, found.oid)
    known = set(wrong_columns(table, columns)) if table.install != "outbox" else set()
    for problem in wrong_read_columns(table, columns):
        if problem not in known:
            yield error(f"{shown}: {problem}", _INIT)
    yield from check_column_sources(table, columns)
    yield from check_indexes(conn, table, found.oid)
