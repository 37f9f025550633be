"""Databases holding a journal of layout `bridge`, for the writer's tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sqlalchemy import Engine, Row, create_engine, make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from bridge.writer.tables import bridge_events

__all__ = ["POSTGRES_DDL", "WriterJournal", "postgres_journal", "sqlite_journal"]

# The public contract as documented, spelled out: the writer must work on exactly this.
POSTGRES_DDL = """
CREATE SEQUENCE bridge_events_ordering_seq AS bigint CACHE 1;
CREATE TABLE bridge_events (
  persistence_id text NOT NULL,
  sequence_nr bigint NOT NULL CHECK (sequence_nr > 0),
  event_type text NOT NULL,
  content_type text NOT NULL DEFAULT 'application/json',
  payload bytea NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  metadata jsonb NOT NULL DEFAULT '{}',
  timestamp_ms bigint NOT NULL,
  txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  ordering bigint NOT NULL DEFAULT nextval('bridge_events_ordering_seq'),
  PRIMARY KEY (persistence_id, sequence_nr)
);
CREATE INDEX ON bridge_events (txid, ordering);
CREATE TABLE orders (id text PRIMARY KEY);
"""


@dataclass(frozen=True)
class WriterJournal:
    """A database with the journal's table and an application's own table `orders`."""

    engine: Engine
    async_url: str

    def async_engine(self) -> AsyncEngine:
        """A new engine for one event loop; dispose of it there."""
        return create_async_engine(self.async_url, poolclass=NullPool)

    def rows(self) -> list[Row[Any]]:
        """Committed events in the order in which they were inserted."""
        statement = bridge_events.select().order_by(text("ordering"))
        with self.engine.connect() as connection:
            return list(connection.execute(statement))

    def numbers(self, persistence_id: str) -> list[int]:
        """Committed sequence numbers of one entity in the order in which they were inserted."""
        return [row.sequence_nr for row in self.rows() if row.persistence_id == persistence_id]

    def orders(self) -> list[str]:
        """Committed rows of the application's own table."""
        with self.engine.connect() as connection:
            return list(connection.scalars(text("SELECT id FROM orders ORDER BY id")))


@contextmanager
def postgres_journal(database_url: str) -> Iterator[WriterJournal]:
    """A journal in an empty PostgreSQL database."""
    url = make_url(database_url).set(drivername="postgresql+psycopg")
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(POSTGRES_DDL)
    yield WriterJournal(engine, url.render_as_string(hide_password=False))
    engine.dispose()


@contextmanager
def sqlite_journal(path: str) -> Iterator[WriterJournal]:
    """A journal in a new SQLite file, made with the DDL that is delivered."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    # `bridge.journals.sqlite` may be no regular package: start from the one that certainly is.
    ddl = files("bridge").joinpath("journals/sqlite/sql/bridge.sql").read_text(encoding="utf-8")
    with engine.connect() as connection:
        driver_connection: Any = connection.connection.driver_connection
        driver_connection.executescript(ddl + "CREATE TABLE orders (id TEXT PRIMARY KEY);")
    yield WriterJournal(engine, f"sqlite+aiosqlite:///{path}")
    engine.dispose()
