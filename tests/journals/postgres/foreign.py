"""An actor-ts journal that belongs to somebody else, and sessions of the roles around it."""

import shutil
import subprocess
import threading
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psycopg
from psycopg import sql

from bridge.journals.postgres.install import install, uninstall
from bridge.journals.postgres.patience import random_pause
from bridge.journals.postgres.table import Install, JournalTable
from tests.services.postgres import find_postgres_binaries

__all__ = ["ForeignJournal", "Writers", "schema_dump"]

Connection = psycopg.Connection[Any]

SCHEMA = "Shop 'A\" {x} %s"
TABLE = 'Eve"nts'


@dataclass
class ForeignJournal:
    """The journal; statements name it `{journal}` and its schema `{schema}`."""

    url: str
    owner: str
    writer: str
    relay: str
    _connections: list[Connection] = field(default_factory=list)

    def table(self, how: Install) -> JournalTable:
        return JournalTable("actor-ts", how, SCHEMA, TABLE)

    def connect(self, role: str | None = None, application: str = "test") -> Connection:
        """An autocommit session; without a role that of the superuser. Closed by `close`."""
        conn = psycopg.connect(self.url, autocommit=True, application_name=application)
        self._connections.append(conn)
        if role is not None:
            statement = sql.SQL("SET SESSION AUTHORIZATION {}").format(sql.Identifier(role))
            conn.execute(statement)
        return conn

    def close(self) -> None:
        for conn in self._connections:
            conn.close()

    def create_schema(self) -> None:
        self.run(
            self.connect(),
            "CREATE SCHEMA {schema} AUTHORIZATION {owner};"
            "GRANT USAGE ON SCHEMA {schema} TO {writer}",
        )

    def create_table(
        self, partition_by: str = "", key: str = "persistence_id, sequence_nr"
    ) -> None:
        """Create the journal (again); with `partition_by` it is partitioned by `region`."""
        self.run(
            self.connect(self.owner),
            "DROP TABLE IF EXISTS {journal};"
            "CREATE TABLE {journal} (persistence_id text NOT NULL, sequence_nr bigint NOT NULL,"
            " payload text NOT NULL, tags varchar(2000), timestamp bigint NOT NULL,"
            f" region text NOT NULL DEFAULT 'a', PRIMARY KEY ({key})) {partition_by};"
            "GRANT SELECT, INSERT, UPDATE ON {journal} TO {writer}",
        )

    def make_partitioned(self) -> None:
        """Create it again, with a partition for region a and, one level deeper, one for b."""
        self.create_table("PARTITION BY LIST (region)", "persistence_id, sequence_nr, region")
        self.run(
            self.connect(self.owner),
            "CREATE TABLE {schema}.part_a PARTITION OF {journal} FOR VALUES IN ('a');"
            "CREATE TABLE {schema}.part_b PARTITION OF {journal} FOR VALUES IN ('b')"
            " PARTITION BY LIST (region);"
            "CREATE TABLE {schema}.part_b1 PARTITION OF {schema}.part_b FOR VALUES IN ('b')",
        )

    def run(self, conn: Connection, statement: str) -> None:
        """Execute statements with the names of the journal filled in."""
        conn.execute(self.named(statement))

    def rows(self, conn: Connection, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query with the names of the journal filled in."""
        return conn.execute(self.named(query)).fetchall()

    def named(self, statement: str) -> bytes:
        composed = sql.SQL(statement).format(
            schema=sql.Identifier(SCHEMA),
            journal=sql.Identifier(SCHEMA, TABLE),
            outbox=sql.Identifier(SCHEMA, "bridge_outbox"),
            owner=sql.Identifier(self.owner),
            writer=sql.Identifier(self.writer),
        )
        return composed.as_string(None).encode()

    def append(self, conn: Connection, pid: str, nr: int, region: str = "a") -> None:
        self.run(
            conn,
            "INSERT INTO {journal} (persistence_id, sequence_nr, payload, tags, timestamp, region)"
            f" VALUES ('{pid}', {nr}, '{{{{}}}}', 'red,blue', 1000, '{region}')",
        )

    def install(self, how: Install, limit_s: float = 20.0, relay_role: str | None = None) -> None:
        pause = random_pause(time.sleep, Random(7))
        conn = self.connect(self.owner)
        install(conn, self.table(how), pause=pause, limit_s=limit_s, relay_role=relay_role)

    def uninstall(self, how: Install, relay_role: str | None = None) -> None:
        pause = random_pause(time.sleep, Random(7))
        conn = self.connect(self.owner)
        uninstall(conn, self.table(how), pause=pause, limit_s=20.0, relay_role=relay_role)

    def positions(self, how: Install) -> dict[tuple[str, int], tuple[int | None, int | None]]:
        """(txid, ordering) by (persistence id, sequence number), as the relay would find them."""
        table = self.table(how)
        found = self.rows(
            self.connect(),
            f"SELECT persistence_id, sequence_nr, {table.txid_column}::text::bigint,"
            f" {table.ordering_column} FROM {'{outbox}' if how == 'outbox' else '{journal}'}",
        )
        assert len({row[:2] for row in found}) == len(found)
        return {(pid, nr): (txid, ordering) for pid, nr, txid, ordering in found}


class Writers:
    """Threads that append as the writer role until `stop`; each has an entity of its own."""

    def __init__(self, journal: ForeignJournal, count: int) -> None:
        self.written: dict[str, int] = {f"p{i}": 0 for i in range(count)}
        self.errors: list[BaseException] = []
        self.longest_s = 0.0
        self._journal = journal
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(pid,)) for pid in self.written]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def total(self) -> int:
        return sum(self.written.values())

    def _write(self, pid: str) -> None:
        try:
            conn = self._journal.connect(self._journal.writer)
            while not self._stop.is_set():
                started = time.monotonic()
                with conn.transaction():
                    for _ in range(2):
                        self._journal.append(conn, pid, self.written[pid] + 1)
                        self.written[pid] += 1
                self.longest_s = max(self.longest_s, time.monotonic() - started)
        except BaseException as error:  # noqa: BLE001 - the test that owns the threads judges it
            self.errors.append(error)


def schema_dump(url: str) -> str:
    """`pg_dump --schema-only`, without the random token that newer versions print."""
    on_path, binaries = shutil.which("pg_dump"), find_postgres_binaries()
    program = on_path or (str(binaries / "pg_dump") if binaries else None)
    assert program is not None, "install the PostgreSQL client programs"
    command = [program, "--schema-only", "--dbname", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "\n".join(line for line in text.splitlines() if "restrict " not in line)
