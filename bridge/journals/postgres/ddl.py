"""The statements of an installation and of its removal, as text; nothing here is executed.

An installation is a sequence of steps. A transactional step starts with BEGIN, ends with COMMIT and
may be tried again as a whole; the others are single statements that refuse to run in a transaction
(CREATE INDEX CONCURRENTLY).
"""

from collections.abc import Iterable, Sequence

from psycopg import sql

from bridge.journals.postgres.columns_index import index_steps
from bridge.journals.postgres.steps import Names, Step, locked, on_member, transaction
from bridge.journals.postgres.table import (
    INSERT_TRIGGER,
    UPDATE_TRIGGER,
    JournalTable,
    Relation,
)

__all__ = [
    "installation",
    "plan",
    "removal",
    "removal_plan",
]


def plan(
    table: JournalTable, relay_role: str | None = None, members: Sequence[Relation] = ()
) -> tuple[str, ...]:
    """The statements with which `install` prepares the database, in order.

    Args:
        relay_role: role that gets what the relay needs, if it is not the installing one.
        members: the partition tree as found (`catalog.members`); nothing for a plain table.
    """
    return _flat(installation(table, relay_role, members))


def removal_plan(
    table: JournalTable,
    relay_role: str | None = None,
    drop_events: bool = False,
    relay: tuple[str, str] | None = None,
) -> tuple[str, ...]:
    """The statements with which `uninstall` removes everything again, in order.

    Args:
        relay_role: role from which the rights on the journal and its schema are taken back.
        drop_events: drop `bridge_events` (layout `bridge`) even if it holds rows.
        relay: (app, journal) whose rows in `bridge_state` go, too.
    """
    return _flat([removal(table, relay_role, drop_events, relay)])


def installation(
    table: JournalTable, relay_role: str | None, members: Sequence[Relation]
) -> list[Step]:
    """The steps of `plan`."""
    names = Names(table)
    match table.install:
        case None:
            body = _events(names)
        case "outbox":
            body = _outbox(names)
        case "columns":
            body = _columns(names, members)
    grants = [] if relay_role is None else _grants(names, relay_role)
    steps = [transaction([names.install("create_state"), *body, *grants])]
    return steps + (index_steps(names, members) if table.install == "columns" else [])


def removal(
    table: JournalTable,
    relay_role: str | None,
    drop_events: bool,
    relay: tuple[str, str] | None,
) -> Step:
    """The one step of `removal_plan`."""
    names = Names(table)
    app, journal = relay or ("", table.table)
    forget = names.remove("forget", app=sql.Literal(app), journal_text=sql.Literal(journal))
    revokes = [] if relay_role is None else _revokes(names, relay_role)
    return transaction(
        [
            *locked(names.remove("lock_for_removal")),
            *_drops(names, drop_events),
            names.remove("drop_sequence"),
            forget,
            *revokes,
        ]
    )


def _flat(steps: Iterable[Step]) -> tuple[str, ...]:
    return tuple(statement for step in steps for statement in step.statements)


def _events(names: Names) -> list[str]:
    return [
        names.install("create_sequence"),
        names.install("create_events"),
        names.install("position_index", index_name=sql.Identifier("bridge_events_position")),
        names.install("record"),
    ]


def _outbox(names: Names) -> list[str]:
    return [
        names.install("create_sequence"),
        names.install("create_outbox"),
        names.install("outbox_not_null"),
        names.install("outbox_identity", index_name=sql.Identifier("bridge_outbox_identity")),
        names.install("position_index", index_name=sql.Identifier("bridge_outbox_position")),
        *_function(names, "outbox_function", "bridge_outbox_copy"),
        *locked(names.install("lock_for_trigger")),
        *_trigger(names, INSERT_TRIGGER["outbox"], "AFTER INSERT", "bridge_outbox_copy"),
        names.install("record"),
        names.install("record_snapshot"),
    ]


def _columns(names: Names, members: Sequence[Relation]) -> list[str]:
    parents = [member for member in members if not member.leaf]
    return [
        names.install("create_sequence"),
        *_function(names, "columns_insert_function", "bridge_columns_assign"),
        *_function(names, "columns_update_function", "bridge_columns_keep"),
        *locked(names.install("lock_for_columns")),
        names.install("add_columns"),
        *_trigger(names, INSERT_TRIGGER["columns"], "BEFORE INSERT", "bridge_columns_assign"),
        *_trigger(names, UPDATE_TRIGGER, "BEFORE UPDATE", "bridge_columns_keep"),
        *(on_member(names, "columns_parent_index", member) for member in parents),
        names.install("record"),
        names.install("record_snapshot"),
    ]


def _function(names: Names, statement: str, name: str) -> list[str]:
    function = names.function(name)
    return [
        names.install(statement, function=function),
        names.install("revoke_execute", function=function),
    ]


def _trigger(names: Names, trigger: str, event: str, function: str) -> list[str]:
    quoted = names.function(function)
    create = names.install(
        "create_trigger",
        trigger=sql.Identifier(trigger),
        trigger_name=sql.Literal(trigger),
        event=sql.SQL(event),
        function=quoted,
        function_name=sql.Literal(f"{quoted.as_string(None)}()"),
    )
    return [create, names.install("enable_always", trigger=sql.Identifier(trigger))]


def _grants(names: Names, relay_role: str) -> list[str]:
    role = sql.Identifier(relay_role)
    readable = {names.table.table: None, names.table.read_table: None}
    return [
        names.install("grant_schema", role=role),
        *(
            names.install("grant_read", relation=names.function(name), role=role)
            for name in readable
        ),
        names.install("grant_state", role=role),
    ]


def _revokes(names: Names, relay_role: str) -> list[str]:
    role = sql.Identifier(relay_role)
    kept = [] if names.table.layout == "bridge" else [names.remove("revoke_read", role=role)]
    return [*kept, names.remove("revoke_schema", role=role)]


def _drops(names: Names, drop_events: bool) -> list[str]:
    def trigger(name: str) -> str:
        return names.remove("drop_trigger", trigger=sql.Identifier(name))

    def function(name: str) -> str:
        return names.remove("drop_function", function=names.function(name))

    match names.table.install:
        case None:
            guard = [] if drop_events else [names.remove("keep_events")]
            return [*guard, names.remove("drop_table")]
        case "outbox":
            return [
                trigger(INSERT_TRIGGER["outbox"]),
                function("bridge_outbox_copy"),
                names.remove("drop_table"),
            ]
        case "columns":
            return [
                trigger(INSERT_TRIGGER["columns"]),
                trigger(UPDATE_TRIGGER),
                function("bridge_columns_assign"),
                function("bridge_columns_keep"),
                names.remove("drop_columns"),
            ]
