"""`append`: events into `bridge_events`, inside the caller's transaction."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection, false, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session, scoped_session

from bridge.errors import ConfigError
from bridge.writer.encoding import EventRow, check_append, encode_events
from bridge.writer.errors import InvalidEventError, SequenceConflictError
from bridge.writer.events import BIGINT_MAX, Event
from bridge.writer.tables import bridge_events

__all__ = ["AsyncTarget", "SyncTarget", "append", "append_async"]

SyncTarget: TypeAlias = Connection | Session | scoped_session[Any]
AsyncTarget: TypeAlias = AsyncConnection | AsyncSession

_UNIQUE_VIOLATION = "23505"


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def append(
    target: SyncTarget,
    persistence_id: str,
    events: Sequence[Event],
    *,
    expected_sequence_nr: int | None,
    schema: str | None = None,
    now_ms: Callable[[], int] = _wall_clock_ms,
) -> int:
    """Append events to one entity, in the caller's transaction; never commits.

    All events are stored or none. Two appends to one entity at the same time: the later one waits
    for the earlier one's transaction and then conflicts, unless that was rolled back. Without
    events the expectation is still checked.

    Args:
        target: connection or session of a PostgreSQL or SQLite database, not in AUTOCOMMIT.
        persistence_id: the entity, 1 to 255 characters, any but NUL.
        events: stored in this order under consecutive sequence numbers.
        expected_sequence_nr: last number that the caller has seen of the entity, 0 for a new one.
            None appends after whatever is there; a writer that is faster still is a conflict.
        schema: of the table; None: what the connection finds (its `schema_translate_map`, its
            search path).
        now_ms: clock for events without a time of their own, ms since 1970-01-01 UTC.

    Returns:
        The entity's last sequence number afterwards.

    Raises:
        InvalidEventError: an event or argument is refused; nothing was sent to the database.
        SequenceConflictError: somebody else has appended; the transaction can go on.
        ConfigError: `target` is nothing that can be appended to in a transaction.
    """
    check_append(persistence_id, expected_sequence_nr, len(events))
    encoded = encode_events(persistence_id, events, now_ms)
    connection = _connection(target)
    options = {} if schema is None else {"schema_translate_map": {None: schema}}
    _enter_transaction(connection, options)
    head = _head(connection, persistence_id, options)
    expected = head if expected_sequence_nr is None else expected_sequence_nr
    if head != expected:
        raise SequenceConflictError(persistence_id, expected=expected, found=head)
    last = head + len(encoded)
    if last > BIGINT_MAX:
        raise InvalidEventError(
            f"append to {persistence_id!r}: {len(encoded)} more events after {head} exceed the "
            "largest sequence number",
            "an entity's numbers start at 1; see how its last one came to be",
            field="events",
            index=None,
        )
    rows: list[EventRow] = [
        {"persistence_id": persistence_id, "sequence_nr": number, **fields}
        for number, fields in enumerate(encoded, head + 1)
    ]
    if rows:
        _insert(connection, rows, expected, options)
    return last


async def append_async(
    target: AsyncTarget,
    persistence_id: str,
    events: Sequence[Event],
    *,
    expected_sequence_nr: int | None,
    schema: str | None = None,
    now_ms: Callable[[], int] = _wall_clock_ms,
) -> int:
    """`append` for SQLAlchemy's asyncio connections and sessions; the same in all else."""
    if not isinstance(target, AsyncConnection | AsyncSession):
        raise _unusable(target, "AsyncConnection or AsyncSession")

    def run(sync_target: SyncTarget) -> int:
        return append(
            sync_target,
            persistence_id,
            events,
            expected_sequence_nr=expected_sequence_nr,
            schema=schema,
            now_ms=now_ms,
        )

    return await target.run_sync(run)


def _unusable(target: object, wanted: str) -> ConfigError:
    return ConfigError(
        f"append got {type(target).__name__}, which is no {wanted}",
        "pass the connection or session that holds the transaction of your own changes",
    )


def _connection(target: SyncTarget) -> Connection:
    if isinstance(target, Connection):
        connection = target
    elif isinstance(target, Session | scoped_session):
        connection = target.connection()
    else:
        raise _unusable(target, "Connection or Session")
    if connection.dialect.name not in {"postgresql", "sqlite"}:
        raise ConfigError(
            f"append works on PostgreSQL and SQLite, not on {connection.dialect.name}",
            "open the connection on the database that holds the journal",
        )
    return connection


def _enter_transaction(connection: Connection, options: dict[str, Any]) -> None:
    """Make sure that a transaction is open in the database, not only in SQLAlchemy's books."""
    if connection.dialect.name == "sqlite":
        # Taking the write lock before reading the head makes the head final: SQLite has one writer
        # at a time. Python's sqlite3 begins a transaction only at a writing statement; without
        # this one the savepoint would be outermost, and its release a commit.
        nothing = update(bridge_events).values(event_type="").where(false())
        connection.execute(nothing, execution_options=options)
        driver_connection: Any = connection.connection.driver_connection
        autocommit = not driver_connection.in_transaction
    else:
        if not connection.in_transaction():
            connection.begin()
        dbapi_connection: Any = connection.connection.dbapi_connection
        autocommit = connection.dialect.detect_autocommit_setting(dbapi_connection)
    if autocommit:
        raise ConfigError(
            "append got a connection in AUTOCOMMIT mode: its events would not share the fate of "
            "the changes they tell of",
            "use a connection with transactions (leave isolation_level at its default)",
        )


def _head(connection: Connection, persistence_id: str, options: dict[str, Any]) -> int:
    statement = select(func.coalesce(func.max(bridge_events.c.sequence_nr), 0)).where(
        bridge_events.c.persistence_id == persistence_id
    )
    head: int = connection.execute(statement, execution_options=options).scalar_one()
    return head


def _insert(
    connection: Connection, rows: list[EventRow], expected: int, options: dict[str, Any]
) -> None:
    try:
        # A failed INSERT would doom the caller's transaction on PostgreSQL; the savepoint confines
        # it. `txid` stays the top-level transaction's id, savepoint or not.
        with connection.begin_nested():
            connection.execute(insert(bridge_events), rows, execution_options=options)
    except IntegrityError as error:
        if getattr(error.orig, "sqlstate", None) != _UNIQUE_VIOLATION:
            raise
        persistence_id = rows[0]["persistence_id"]
        found = _head(connection, persistence_id, options)
        # Not chained to SQLAlchemy's own error: its message quotes the payloads.
        conflict = SequenceConflictError(persistence_id, expected=expected, found=found)
        raise conflict from error.orig
