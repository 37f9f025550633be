"""The journal of the demonstration in a database: made, written, read the usual way, removed."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from bridge.core.rows import RowKey
from bridge.demo.story import TAG, Deposit
from bridge.errors import ConfigError, SetupError
from bridge.journals.named_sql import named_statements
from bridge.journals.sqlite.session import database_errors, path_of

__all__ = ["BEGINNING", "Database", "Session", "SqliteDatabase", "open_database"]

Cursor = tuple[int, str, int]
"""Timestamp, persistence id and sequence number of the last event seen."""

BEGINNING: Cursor = (0, "", 0)

_LOCK_WAIT_S = 30.0
_SIDE_FILES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between databases.

    Attributes:
        name: of the database, for people.
        mark: placeholder of a parameter.
        prefix: of the tables' names.
        begin: opens a transaction.
        serialize: statement, just behind `begin`, after which no other writer is at work until the
            end of the transaction; None where `begin` does that by itself.
    """

    name: str
    mark: str
    prefix: str
    begin: str
    serialize: str | None


class Session:
    """One connection; used by one thread."""

    def __init__(
        self,
        conn: Any,
        dialect: Dialect,
        errors: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._conn = conn
        self._dialect = dialect
        self._errors = errors

    def append(self, key: RowKey, payload: str, work: Callable[[], object], *, fair: bool) -> int:
        """Commit an event as an application does: take its time, work, commit.

        Args:
            work: takes the time that the application needs before it can commit.
            fair: work first; take the event's time when no other writer is at work.

        Returns:
            The event's time.
        """
        with self._errors("appending"):
            if fair:
                work()
                return self._commit(key, payload, None, None)
            timestamp_ms = _wall_ms()
            if self._dialect.serialize is None:
                # Its transactions exclude each other: nobody works inside one.
                work()
                return self._commit(key, payload, timestamp_ms, None)
            return self._commit(key, payload, timestamp_ms, work)

    def behind(self, cursor: Cursor) -> list[Deposit]:
        """What a reader by timestamp cursor sees."""
        return self._select("behind", (TAG, *cursor))

    def everything(self) -> list[Deposit]:
        """The journal, by entity and number."""
        return self._select("everything", ())

    def create(self) -> None:
        """Make the tables."""
        with self._errors("creating the journal"):
            for name in ("create_events", "create_tags"):
                self._conn.execute(self._sql(name))

    def execute(self, statement: str) -> None:
        """Execute a statement of the database's own."""
        with self._errors("preparing the journal"):
            self._conn.execute(statement)

    def close(self) -> None:
        """Give up the connection; an open transaction is rolled back."""
        self._conn.close()

    def _commit(
        self, key: RowKey, payload: str, timestamp_ms: int | None, work: Callable[[], object] | None
    ) -> int:
        self._conn.execute(self._dialect.begin)
        if timestamp_ms is None:
            if self._dialect.serialize is not None:
                self._conn.execute(self._dialect.serialize)
            timestamp_ms = _wall_ms()
        self._conn.execute(self._sql("append_event"), (*key, payload, TAG, timestamp_ms))
        self._conn.execute(self._sql("append_tag"), (*key, TAG, timestamp_ms))
        if work is not None:
            work()
        self._conn.execute("COMMIT")
        return timestamp_ms

    def _select(self, name: str, parameters: tuple[object, ...]) -> list[Deposit]:
        with self._errors("reading"):
            found = self._conn.execute(self._sql(name), parameters).fetchall()
        return [Deposit._make(row) for row in found]

    def _sql(self, name: str) -> str:
        text = named_statements(__package__, "journal")[name]
        return text.format(prefix=self._dialect.prefix, mark=self._dialect.mark)


class Database(Protocol):
    """Where the journal is."""

    name: str
    """For people."""

    config: Mapping[str, Any]
    """What bridge must know of the journal."""

    stays: str
    """How to remove by hand what a killed demonstration leaves."""

    def create(self) -> None:
        """Make the tables of an empty journal; refuses to touch what is there already."""

    def connect(self) -> Session:
        """A connection of its own."""

    def remove(self) -> None:
        """Remove all that `create`, and bridge for this journal, have made; nothing else."""


class SqliteDatabase:
    """A file of its own, which must not exist before and is removed afterwards."""

    name = "SQLite"

    def __init__(self, url: str) -> None:
        self._path = path_of(url)
        self._made = False
        self.config: Mapping[str, Any] = {"url": url, "layout": "actor-ts"}
        self.stays = f"file {self._path}"

    def create(self) -> None:
        """See the port."""
        self._made = self._make()
        with _closing(self.connect()) as session:
            session.execute("PRAGMA journal_mode = WAL")
            session.create()

    def connect(self) -> Session:
        """See the port."""
        with database_errors(f"opening {self._path}"):
            conn = sqlite3.connect(self._path, timeout=_LOCK_WAIT_S, isolation_level=None)
            conn.execute("PRAGMA synchronous = NORMAL")
        dialect = Dialect(self.name, "?", "", "BEGIN IMMEDIATE", None)
        return Session(conn, dialect, lambda doing: database_errors(f"{doing} in {self._path}"))

    def remove(self) -> None:
        """See the port."""
        for ending in _SIDE_FILES if self._made else ():
            with suppress(FileNotFoundError):
                os.remove(self._path + ending)

    def _make(self) -> bool:
        try:
            with open(self._path, "x"):
                return True
        except FileExistsError:
            raise ConfigError(
                f"{self._path} exists: the demonstration makes a file and removes it afterwards",
                "give the path of a file that does not exist",
            ) from None
        except OSError as e:
            raise ConfigError(
                f"{self._path} cannot be made: {e.strerror}", "give another path"
            ) from None


class PostgresDatabase:
    """A schema of its own.

    Args:
        schema: must not exist before; removed afterwards with all that is in it.
    """

    name = "PostgreSQL"

    def __init__(self, url: str, schema: str) -> None:
        self._url = url
        self._schema = schema
        self._made = False
        self.config: Mapping[str, Any] = {"url": url, "layout": "actor-ts", "schema": schema}
        self.stays = f"schema {schema} (DROP SCHEMA {schema} CASCADE)"

    def create(self) -> None:
        """See the port."""
        with _closing(self.connect()) as session:
            session.execute(f"CREATE SCHEMA {self._schema}")
            self._made = True
            session.create()

    def connect(self) -> Session:
        """See the port."""
        from bridge.journals.postgres.session import (  # noqa: PLC0415 - an extra
            connect,
            database_errors,
        )

        serialize = f"LOCK TABLE {self._schema}.events IN SHARE ROW EXCLUSIVE MODE"
        dialect = Dialect(self.name, "%s", f"{self._schema}.", "BEGIN", serialize)
        conn = connect(self._url, "bridge demo")
        return Session(conn, dialect, lambda doing: database_errors(f"{doing} in {self._schema}"))

    def remove(self) -> None:
        """See the port."""
        if not self._made:
            return
        with _closing(self.connect()) as session:
            session.execute(f"SET lock_timeout = {int(_LOCK_WAIT_S * 1000)}")
            session.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")


def open_database(url: str, run: str) -> Database:
    """The database behind an address; nothing is connected yet.

    Args:
        run: a name for what is made, unique to this run.

    Raises:
        ConfigError: no such kind of database.
        SetupError: its driver is not installed.
    """
    scheme = url.partition("://")[0].partition("+")[0]
    if scheme == "sqlite":
        return SqliteDatabase(url)
    if scheme in {"postgresql", "postgres"}:
        if find_spec("psycopg") is None:
            raise SetupError(
                "--journal: there is no driver for PostgreSQL",
                "install it: pip install 'psycopg[binary]'",
            )
        return PostgresDatabase(f"postgresql://{url.partition('://')[2]}", run.replace("-", "_"))
    raise ConfigError(
        f"--journal: no journal in {scheme or 'this'}",
        "give postgresql://user@host/database or sqlite:////path/of/a/new/file",
    )


@contextmanager
def _closing(session: Session) -> Iterator[Session]:
    try:
        yield session
    finally:
        session.close()


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
