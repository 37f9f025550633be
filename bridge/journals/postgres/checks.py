"""Single checks of an inspection: each asks the catalog one thing and judges the answer."""

from collections.abc import Iterator, Sequence

from psycopg import sql

from bridge.journals.findings import Finding, error, warning
from bridge.journals.postgres import catalog
from bridge.journals.postgres.catalog import Column, Connection, Found, Trigger
from bridge.journals.postgres.statements import compose
from bridge.journals.postgres.table import (
    INSERT_TRIGGER,
    UPDATE_TRIGGER,
    JournalTable,
    Relation,
)

__all__ = [
    "check_column_sources",
    "check_compaction",
    "check_copy",
    "check_foreign_triggers",
    "check_indexes",
    "check_our_triggers",
    "check_relation",
    "check_sequence",
]

_AGAIN = "run `bridge init` again"
_ENABLED = {"D": "disabled", "O": "bypassed by replica sessions", "R": "fired by replicas only"}


def check_relation(
    conn: Connection, shown: str, found: Found, wanted: Sequence[str]
) -> Iterator[Finding]:
    """Rights of the current role on a table, and whether the table keeps and shows its rows."""
    lacking = catalog.missing_privileges(conn, found.oid, wanted)
    if lacking:
        yield error(
            f"role {conn.info.user} lacks {', '.join(lacking)} on {shown}",
            "run `bridge init` with this role as the relay's role",
        )
    if found.rows_hidden:
        yield error(
            f"row level security on {shown} filters what role {conn.info.user} sees",
            "give the role BYPASSRLS, or a relay role that owns the table",
        )
    if found.persistence != "p":
        yield error(f"{shown} is not logged: a crash empties it", "ALTER TABLE … SET LOGGED")


def check_column_sources(table: JournalTable, columns: Sequence[Column]) -> Iterator[Finding]:
    """Where the columns that carry the order get their values from."""
    for column in columns:
        if column.name not in {table.txid_column, table.ordering_column}:
            continue
        shown = f"column {column.name} of {table.schema}.{table.read_table}"
        if column.generated or column.identity:
            yield error(f"{shown} is filled by the server's own rule", f"drop it and {_AGAIN}")
        elif table.layout == "bridge":
            yield from _check_default(table, column, shown)
    if table.layout == "bridge":
        yield from _check_order_is_last(table, columns)


def _check_default(table: JournalTable, column: Column, shown: str) -> Iterator[Finding]:
    source = "pg_current_xact_id()" if column.name == table.txid_column else table.sequence
    if source not in (column.default or ""):
        yield error(
            f"{shown} has the default {column.default}, expected {source}",
            "restore the default of the layout",
        )


def _check_order_is_last(table: JournalTable, columns: Sequence[Column]) -> Iterator[Finding]:
    with_default = [column.name for column in columns if column.default is not None]
    if with_default[-2:] != [table.txid_column, table.ordering_column]:
        yield error(
            f"defaults of {table.shown} are evaluated in the order {', '.join(with_default)}",
            "txid and ordering must be the last columns that have a default, in this order",
        )


def check_our_triggers(
    table: JournalTable, members: Sequence[Relation], triggers: Sequence[Trigger]
) -> Iterator[Finding]:
    """Our triggers: there on the table and on each partition, firing always, with their rights."""
    if table.install is None:
        return
    wanted = [INSERT_TRIGGER[table.install]]
    if table.install == "columns":
        wanted.append(UPDATE_TRIGGER)
    found = {(trigger.relation, trigger.name): trigger for trigger in triggers}
    for member in members:
        for name in wanted:
            trigger = found.get((member.oid, name))
            yield from _check_trigger(f"{member.schema}.{member.name}", name, trigger)


def _check_trigger(relation: str, name: str, trigger: Trigger | None) -> Iterator[Finding]:
    lost = "rows written meanwhile are not relayed; bridge counts them as bypassed"
    if trigger is None:
        yield error(f"trigger {name} is missing on {relation}", f"{_AGAIN}; {lost}")
    elif trigger.enabled != "A":
        state = _ENABLED.get(trigger.enabled, trigger.enabled)
        yield error(f"trigger {name} on {relation} is {state}", f"{_AGAIN}; {lost}")
    elif not trigger.security_definer:
        yield error(f"function of trigger {name} has lost SECURITY DEFINER", _AGAIN)


def check_foreign_triggers(table: JournalTable, triggers: Sequence[Trigger]) -> Iterator[Finding]:
    """BEFORE triggers that run after the order was taken."""
    if table.install == "outbox":
        return
    ours = INSERT_TRIGGER["columns"].encode()
    for trigger in triggers:
        if not trigger.before_insert_row:
            continue
        if table.layout == "bridge":
            yield error(
                f"BEFORE trigger {trigger.name} on {table.shown} runs after the defaults",
                "drop it: what it depends on could get a smaller ordering",
            )
        elif trigger.name.encode() > ours:
            yield error(
                f"BEFORE trigger {trigger.name} on {table.shown} fires after ours",
                "rename it so that it sorts before, or use install outbox",
            )


def check_sequence(conn: Connection, table: JournalTable) -> Iterator[Finding]:
    """The sequence rises with each insert, in whichever session."""
    shown = f"sequence {table.schema}.{table.sequence}"
    found = catalog.sequence(conn, table)
    if found is None:
        yield error(f"{shown} is missing", _AGAIN)
        return
    if found.cache != 1:
        yield error(
            f"{shown} has CACHE {found.cache}: sessions take values in advance",
            "ALTER SEQUENCE … CACHE 1 and let the writers reconnect",
        )
    if found.increment < 1 or found.cycle:
        yield error(f"{shown} does not only rise", "ALTER SEQUENCE … INCREMENT 1 NO CYCLE")


def check_indexes(conn: Connection, table: JournalTable, oid: int) -> Iterator[Finding]:
    """The index that finds new rows, and the one that keeps the outbox free of doubles."""
    wanted = [([table.txid_column, table.ordering_column], False)]
    if table.install == "outbox":
        wanted.append((["persistence_id", "sequence_nr"], True))
    found = catalog.indexes(conn, oid)
    for columns, unique in wanted:
        fitting = [
            index
            for index in found
            if index.columns[: len(columns)] == columns
            and not index.partial
            and (not unique or (index.unique and len(index.columns) == len(columns)))
        ]
        if any(index.valid for index in fitting):
            continue
        state = f"INVALID ({fitting[0].name})" if fitting else "missing"
        shown = f"{table.schema}.{table.read_table} ({', '.join(columns)})"
        yield error(f"{'unique ' if unique else ''}index on {shown} is {state}", _AGAIN)


def check_compaction(conn: Connection, table: JournalTable) -> Iterator[Finding]:
    """A journal that deletes old events may delete one that was not relayed yet."""
    if table.install != "columns":
        return
    meta = catalog.relation(conn, table.schema, f"{table.table}_meta")
    if meta is None or catalog.missing_privileges(conn, meta.oid, ["SELECT"]):
        return
    name = sql.Identifier(table.schema, f"{table.table}_meta")
    row = conn.execute(compose("state", "has_rows", relation=name).encode()).fetchone()
    if row is not None and row[0]:
        yield warning(
            f"{table.shown} is compacted ({table.table}_meta has rows): an event that is deleted "
            "before it was relayed is lost",
            "use install outbox, which keeps a copy until it is published",
        )


def check_copy(table: JournalTable) -> Iterator[Finding]:
    """What added columns break."""
    if table.install == "columns":
        yield warning(
            f"COPY {table.shown} FROM without a column list fails: the table has two columns more",
            "name the columns in COPY, or use install outbox",
        )
