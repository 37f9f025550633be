"""The installer port for PostgreSQL: a connection of its own for each call."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import Connection
from psycopg.rows import TupleRow

from bridge.journals.findings import Inspection
from bridge.journals.postgres import ddl, install
from bridge.journals.postgres.bypassed import bypassed_rows
from bridge.journals.postgres.inspect import inspect
from bridge.journals.postgres.patience import random_pause
from bridge.journals.postgres.session import connect, database_errors
from bridge.journals.postgres.table import JournalTable

__all__ = ["PostgresInstaller"]

LOCK_LIMIT_S = 60.0
"""How long locks are tried for; each try holds up writers for at most 0.1 s."""


class PostgresInstaller:
    """See :class:`bridge.journals.base.Installer`."""

    def __init__(self, app: str, name: str, url: str, table: JournalTable) -> None:
        self._relay = (app, name)
        self._url = url
        self._table = table
        self._pause = random_pause(time.sleep, random.Random())

    def plan(self, relay_role: str | None) -> Sequence[str]:
        """See the port."""
        with self._connection() as conn:
            return install.plan_for(conn, self._table, relay_role=relay_role)

    def install(self, relay_role: str | None) -> None:
        """See the port."""
        with self._connection() as conn:
            install.install(
                conn, self._table, pause=self._pause, limit_s=LOCK_LIMIT_S, relay_role=relay_role
            )

    def removal_plan(self, relay_role: str | None, *, drop_events: bool) -> Sequence[str]:
        """See the port."""
        return ddl.removal_plan(self._table, relay_role, drop_events=drop_events, relay=self._relay)

    def uninstall(self, relay_role: str | None, *, drop_events: bool) -> None:
        """See the port."""
        with self._connection() as conn:
            install.uninstall(
                conn,
                self._table,
                pause=self._pause,
                limit_s=LOCK_LIMIT_S,
                relay_role=relay_role,
                drop_events=drop_events,
                relay=self._relay,
            )

    def inspect(self) -> Inspection:
        """See the port."""
        with self._connection() as conn:
            return inspect(conn, self._table)

    def bypassed(self, limit: int) -> int:
        """See the port."""
        with self._connection() as conn:
            return bypassed_rows(conn, self._table, limit)

    @contextmanager
    def _connection(self) -> Iterator[Connection[TupleRow]]:
        conn = connect(self._url, "bridge install")
        try:
            with database_errors(f"journal {self._table.shown}"):
                yield conn
        finally:
            conn.close()
