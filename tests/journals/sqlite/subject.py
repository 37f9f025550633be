"""An SQLite journal for tests."""

import shutil
import sqlite3
from pathlib import Path

from bridge.journals.base import PageLimits
from bridge.journals.sqlite.installer import SqliteInstaller
from bridge.journals.sqlite.journal import SqliteJournal
from bridge.journals.sqlite.table import SqliteTable
from tests.contracts.journal_subject import APP, NAME, JournalSubject
from tests.journals.sql_writing import ACTOR_TS_TABLE, SqlWriting, actor_ts_values, bridge_values

__all__ = ["ACTOR_TS", "BRIDGE", "SqliteSubject"]

BRIDGE = SqliteTable("bridge", None, "bridge_events")
ACTOR_TS = SqliteTable("actor-ts", "outbox", "events")

_INSERT = {
    "bridge": "INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags,"
    " timestamp_ms) VALUES (?, ?, ?, ?, ?, ?)",
    "actor-ts": "INSERT INTO events (persistence_id, sequence_nr, payload, tags, timestamp)"
    " VALUES (?, ?, ?, ?, ?)",
}


class SqliteSubject(JournalSubject):
    """A file with an empty journal, installed unless told otherwise."""

    concurrent = False

    def __init__(self, path: Path, table: SqliteTable, *, mode: str = "wal") -> None:
        super().__init__()
        self.path = path
        self.table = table
        self.url = f"sqlite:///{path}"
        conn = self.connect()
        conn.execute(f"PRAGMA journal_mode = {mode}")
        if table.layout == "actor-ts":
            conn.execute(ACTOR_TS_TABLE)
        conn.close()

    def connect(self) -> sqlite3.Connection:
        """A writer's session in autocommit that does not wait for locks."""
        return sqlite3.connect(self.path, isolation_level=None, timeout=0)

    def run(self, statement: str, *params: object) -> list[tuple[object, ...]]:
        """One statement in a session of its own."""
        conn = self.connect()
        try:
            return conn.execute(statement, params).fetchall()
        finally:
            conn.close()

    def installer(self) -> SqliteInstaller:
        return SqliteInstaller(APP, NAME, self.url, self.table)

    def make_journal(self, limits: PageLimits, start: str) -> SqliteJournal:
        return SqliteJournal(
            app=APP, name=NAME, url=self.url, table=self.table, limits=limits, start=start
        )

    def begin(self) -> SqlWriting:
        values = bridge_values if self.table.layout == "bridge" else actor_ts_values
        return SqlWriting(self.connect(), _INSERT[self.table.layout], values)

    def save_copy(self) -> None:
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(self.path, self._copy)

    def restore_copy(self) -> None:
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        self._copy.replace(self.path)

    @property
    def _copy(self) -> Path:
        return self.path.with_suffix(".copy")
