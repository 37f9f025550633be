"""Read models in PostgreSQL and SQLite, through SQLAlchemy's asyncio engine."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import URL, Connection, Table, delete, make_url, select, text, update
from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
from sqlalchemy.exc import ArgumentError, InvalidRequestError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.sql.elements import ColumnElement

from bridge.core.projected import (
    Claim,
    EntityKey,
    Known,
    PartitionKey,
    Seen,
    StoredOffset,
    forgotten_below,
)
from bridge.errors import ConfigError, SetupError
from bridge.readmodels.base import ClaimLostError
from bridge.readmodels.faults import is_gone, translated
from bridge.readmodels.tables import ProjectionTables

__all__ = ["SqlStore"]

CLAIM_WAIT_S = 2
"""How long a claim waits, at one try, for a transaction of the former owner."""

_DRIVERS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite+aiosqlite"}
_SQLITE_BUSY_S = 30
_TABLES_LOCK = 0x6272_6964_6765  # any number that all workers share


class SqlStore:
    """Keeps offsets beside the read model, in the transaction that changes it.

    Args:
        database: an address for SQLAlchemy (``postgresql+psycopg://…``, ``sqlite+aiosqlite:///…``),
            or an engine, which the caller disposes of.
        schema: where the tables of the projections are; None: the connection's default.
        max_idle_s: PostgreSQL ends a transaction of a handler that waits for something else so
            long: a worker that is frozen or hangs does not keep others from taking over.
    """

    def __init__(
        self,
        database: str | URL | AsyncEngine,
        *,
        schema: str | None = None,
        max_idle_s: float = 60.0,
    ) -> None:
        self._given = database if isinstance(database, AsyncEngine) else _address(database)
        self._opened: AsyncEngine | None = None
        self._tables = ProjectionTables(schema)
        self._max_idle_ms = int(max_idle_s * 1000)

    async def open(self) -> None:
        """Connect; missing tables are made."""
        given = self._given
        self._opened = given if isinstance(given, AsyncEngine) else _engine(given)
        with translated("opening the read model"):
            async with self._engine.begin() as connection:
                await self._require_transactions(connection)
                # Two workers that find a table missing at once would collide.
                lock = f"SELECT pg_advisory_xact_lock({_TABLES_LOCK})"
                await connection.execute(text(lock if self._on_postgresql else "BEGIN IMMEDIATE"))
                await connection.run_sync(self._tables.metadata.create_all)

    async def close(self) -> None:
        """Give up all connections; an engine that was given stays."""
        if self._opened is not None and not isinstance(self._given, AsyncEngine):
            await self._opened.dispose()
        self._opened = None

    async def stored(self, projection: str) -> Mapping[tuple[str, int], StoredOffset]:
        """All offsets of a projection by topic and partition."""
        offsets = self._tables.offsets
        wanted = select(offsets).where(offsets.c.projection == projection)
        with translated("reading the offsets"):
            async with self._engine.connect() as connection:
                rows = (await connection.execute(wanted)).all()
        return {
            (row.topic, row.partition): StoredOffset(
                row.epoch, row.next_offset, row.topic_id, row.leader_epoch
            )
            for row in rows
        }

    async def claim(self, key: PartitionKey, topic_id: str, initial: int) -> Claim:
        """Take a partition over; see `OffsetStore.claim`."""
        offsets = self._tables.offsets
        first = {**key._asdict(), "epoch": 0, "next_offset": initial, "topic_id": topic_id}
        raise_epoch = (
            update(offsets)
            .where(*self._is(key))
            .values(epoch=offsets.c.epoch + 1)
            .returning(offsets)
        )
        with translated(f"claiming partition {key.partition} of {key.topic}"):
            async with self._engine.begin() as connection:
                if self._on_postgresql:
                    await connection.execute(text(f"SET LOCAL lock_timeout = '{CLAIM_WAIT_S}s'"))
                await connection.execute(self._insert(offsets), first)
                row = (await connection.execute(raise_epoch)).one()
        return Claim(key, row.epoch, row.next_offset, row.topic_id, row.leader_epoch)

    async def known(self, key: PartitionKey, entities: Iterable[EntityKey]) -> Known:
        """What was applied of these entities from the partition's topic."""
        ids = sorted({entity.entity for entity in entities})
        heads: dict[EntityKey, int] = {}
        late: list[tuple[EntityKey, int]] = []
        with translated("reading the last numbers"):
            async with self._engine.connect() as connection:
                for table in (self._tables.heads, self._tables.late):
                    wanted = select(table.c.source, table.c.entity, table.c.sequence_nr).where(
                        table.c.projection == key.projection,
                        table.c.topic == key.topic,
                        table.c.entity.in_(ids),
                    )
                    rows = (await connection.execute(wanted)).all()
                    found = [(EntityKey(r.source, bytes(r.entity)), r.sequence_nr) for r in rows]
                    if table is self._tables.heads:
                        heads = dict(found)
                    else:
                        late = found
        return Known(heads, late)

    @asynccontextmanager
    async def advance(
        self, claim: Claim, to: int, seen: Sequence[Seen]
    ) -> AsyncIterator[AsyncConnection]:
        """A transaction that moves the offset to `to`; see `OffsetStore.advance`."""
        offsets = self._tables.offsets
        move = (
            update(offsets)
            .where(
                *self._is(claim.key),
                offsets.c.epoch == claim.epoch,
                offsets.c.next_offset == claim.next_offset,
                offsets.c.topic_id == claim.topic_id,
            )
            .values(next_offset=to, leader_epoch=claim.leader_epoch)
        )
        with translated("committing to the read model"):
            async with self._engine.begin() as connection:
                # First of all: whoever lost the claim must not do anything else.
                if (await connection.execute(move)).rowcount != 1:
                    raise ClaimLostError
                if self._on_postgresql:
                    limit = f"SET LOCAL idle_in_transaction_session_timeout = {self._max_idle_ms}"
                    await connection.execute(text(limit))
                await self._remember(connection, claim, to, seen)
                yield connection

    async def call_plain(
        self, tx: AsyncConnection, function: Callable[[Connection], object]
    ) -> None:
        """Call a plain function with the synchronous connection of the same transaction."""
        await tx.run_sync(function)

    def is_gone(self, error: BaseException) -> bool:
        """Whether an error that a handler let through means that the connection is broken."""
        return is_gone(error)

    @property
    def _engine(self) -> AsyncEngine:
        if self._opened is None:
            raise RuntimeError("the store is not open")
        return self._opened

    @property
    def _on_postgresql(self) -> bool:
        return self._engine.dialect.name == "postgresql"

    async def _require_transactions(self, connection: AsyncConnection) -> None:
        if self._engine.dialect.name not in _DRIVERS:
            raise ConfigError(
                f"read models in {self._engine.dialect.name} are not supported",
                "use PostgreSQL or SQLite",
            )
        if await connection.get_isolation_level() == "AUTOCOMMIT":
            raise ConfigError(
                "the engine of the read model commits each statement by itself",
                "make it without isolation_level=AUTOCOMMIT: effect and offset commit together",
            )

    def _is(self, key: PartitionKey) -> list[ColumnElement[bool]]:
        columns = self._tables.offsets.c
        return [columns[name] == value for name, value in key._asdict().items()]

    async def _remember(
        self, connection: AsyncConnection, claim: Claim, to: int, seen: Sequence[Seen]
    ) -> None:
        key = claim.key
        heads: dict[EntityKey, dict[str, object]] = {}
        late: list[dict[str, object]] = []
        for event in seen:
            row = {
                "projection": key.projection,
                "topic": key.topic,
                "partition": key.partition,
                **event.key._asdict(),
                "sequence_nr": event.sequence_nr,
                "seen_offset": event.offset,
            }
            if event.late:
                late.append(row)
            else:  # of one entity, the last one counts: new numbers only go up
                heads[event.key] = row
        if heads:
            replaced = ("sequence_nr", "partition", "seen_offset")
            statement = self._insert(self._tables.heads, replaced)
            await connection.execute(statement, list(heads.values()))
        if late:
            await connection.execute(self._insert(self._tables.late), late)
        limit = forgotten_below(claim.next_offset, to)
        if limit is not None:
            await self._forget(connection, key, limit)

    async def _forget(self, connection: AsyncConnection, key: PartitionKey, below: int) -> None:
        for table in (self._tables.heads, self._tables.late):
            await connection.execute(
                delete(table).where(
                    table.c.projection == key.projection,
                    table.c.topic == key.topic,
                    table.c.partition == key.partition,
                    table.c.seen_offset < below,
                )
            )

    def _insert(self, table: Table, replace: Sequence[str] = ()) -> PostgresInsert | SqliteInsert:
        """INSERT that leaves a row that is there alone, but for the columns of `replace`."""
        insert: PostgresInsert | SqliteInsert
        insert = (PostgresInsert if self._on_postgresql else SqliteInsert)(table)
        if not replace:
            return insert.on_conflict_do_nothing()
        changed = {column: insert.excluded[column] for column in replace}
        return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed)


def _address(given: str | URL) -> URL:
    try:
        url = make_url(given)
    except ArgumentError as e:
        raise ConfigError(
            "the address of the read model cannot be understood",
            "give one like postgresql+psycopg://user@host/database",
        ) from e
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _engine(url: URL) -> AsyncEngine:
    on_sqlite = url.get_backend_name() == "sqlite"
    arguments = {"timeout": _SQLITE_BUSY_S} if on_sqlite else {}
    try:
        return create_async_engine(url, connect_args=arguments)
    except (InvalidRequestError, ArgumentError, ImportError) as e:
        raise SetupError(
            f"no driver for {url.drivername}: {e}",
            "install it (psycopg[binary] for PostgreSQL, aiosqlite for SQLite)",
        ) from e
