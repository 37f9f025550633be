"""The journal suite on PostgreSQL."""

from typing import Any

import psycopg
import pytest

from bridge.journals.base import PageLimits
from bridge.journals.postgres.installer import PostgresInstaller
from bridge.journals.postgres.journal import PostgresJournal
from bridge.journals.postgres.table import JournalTable
from tests.contracts.journal import JournalContract
from tests.contracts.journal_subject import APP, NAME, JournalSubject
from tests.journals.sql_writing import ACTOR_TS_TABLE, SqlWriting, actor_ts_values, bridge_values

_INSERT = {
    "bridge": "INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags,"
    " timestamp_ms) VALUES (%s, %s, %s, %s,"
    " ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)), %s)",
    "actor-ts": "INSERT INTO events (persistence_id, sequence_nr, payload, tags, timestamp)"
    " VALUES (%s, %s, %s, %s, %s)",
}


class PostgresSubject(JournalSubject):
    """A database with an empty installed journal."""

    def __init__(self, url: str, table: JournalTable) -> None:
        super().__init__()
        self._url = url
        self._table = table
        self._copy: list[tuple[Any, ...]] = []
        if table.layout == "actor-ts":
            self._run(ACTOR_TS_TABLE)
        PostgresInstaller(APP, NAME, url, table).install(None)

    def make_journal(self, limits: PageLimits, start: str) -> PostgresJournal:
        return PostgresJournal(
            app=APP, name=NAME, url=self._url, table=self._table, limits=limits, start=start
        )

    def begin(self) -> SqlWriting:
        values = bridge_values if self._table.layout == "bridge" else actor_ts_values
        conn = psycopg.connect(self._url, autocommit=True)
        return SqlWriting(conn, _INSERT[self._table.layout], values)

    def save_copy(self) -> None:
        with psycopg.connect(self._url) as conn:
            self._copy = conn.execute("SELECT * FROM bridge_state").fetchall()

    def restore_copy(self) -> None:
        """A restored volume is the same server; what differs is what was written since."""
        with psycopg.connect(self._url) as conn:
            conn.execute("DELETE FROM bridge_state")
            conn.cursor().executemany(
                "INSERT INTO bridge_state VALUES (%s, %s, %s, %s)", self._copy
            )

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as conn:
            conn.execute(statement.encode())


class BridgeSubject(PostgresSubject):
    null_payload = False


class ActorTsSubject(PostgresSubject):
    comma_tags = False


class TestPostgresBridge(JournalContract):
    @pytest.fixture
    def subject(self, database_url: str) -> PostgresSubject:
        table = JournalTable("bridge", None, "public", "bridge_events")
        return BridgeSubject(database_url, table)


class TestPostgresOutbox(JournalContract):
    @pytest.fixture
    def subject(self, database_url: str) -> PostgresSubject:
        return ActorTsSubject(database_url, JournalTable("actor-ts", "outbox", "public", "events"))


class TestPostgresColumns(JournalContract):
    @pytest.fixture
    def subject(self, database_url: str) -> PostgresSubject:
        return ActorTsSubject(database_url, JournalTable("actor-ts", "columns", "public", "events"))
