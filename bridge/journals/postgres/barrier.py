"""The durability barrier: nothing leaves the journal that a crash of its server could take back.

Aborted and xid-only transactions raise a snapshot's xmax without flushing anything. After a crash
their ids are handed out again, below a cursor that was persisted meanwhile, and the durable rows
written under them would never be in any window. So the flush position must have reached the insert
position read with the snapshot, whatever ``synchronous_commit`` says.
"""

import time

from psycopg import Connection
from psycopg.rows import TupleRow

from bridge.errors import SetupError, UnavailableError
from bridge.journals.postgres.statements import load

__all__ = ["Barrier", "lsn"]

PATIENCE_S = 0.003
"""How long the server's own flushes are awaited before one is forced."""

STANDBY_LIMIT_S = 10.0
_PAUSE_S = 0.0005


def lsn(text: str) -> int:
    """A WAL position ``X/Y`` as a number of bytes."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


class Barrier:
    """Waits until WAL positions are durable.

    Args:
        standbys: how many standbys must have flushed as well.
    """

    def __init__(self, standbys: int) -> None:
        self._standbys = standbys
        self._durable = 0

    def reset(self) -> None:
        """Forget what was durable: the next connection may lead to a server that lost it."""
        self._durable = 0

    def note_flushed(self, position: int) -> None:
        """The server said that its WAL is flushed up to here."""
        if not self._standbys:
            self._durable = max(self._durable, position)

    def pass_(self, conn: Connection[TupleRow], position: int) -> None:
        """Return once everything up to `position` is durable."""
        if position <= self._durable:
            return
        self._flush(conn, position)
        if self._standbys:
            self._await_standbys(conn, position)
        self._durable = position

    def _flush(self, conn: Connection[TupleRow], position: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while _flushed(conn) < position:
            if time.monotonic() > deadline:
                # An open transaction's WAL can stay unflushed for many seconds: a commit of our own
                # flushes everything before it. `local`: `on` would also wait, without any limit,
                # for standbys named in the server's settings, which `durability` decides here.
                with conn.transaction():
                    conn.execute("SET LOCAL synchronous_commit = local")
                    conn.execute(load("read")["force_flush"])
                deadline += STANDBY_LIMIT_S
            time.sleep(_PAUSE_S)

    def _await_standbys(self, conn: Connection[TupleRow], position: int) -> None:
        deadline = time.monotonic() + STANDBY_LIMIT_S
        text = f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
        while True:
            row = conn.execute(load("read")["standbys"], {"lsn": text}).fetchone()
            reached, visible, connected = row or (0, 0, 0)
            if reached >= self._standbys:
                return
            if connected and not visible:
                raise SetupError(
                    "PostgreSQL hides the standbys' positions from the relay's role",
                    "grant it pg_monitor, or use durability: flushed",
                )
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"PostgreSQL: {reached} of {self._standbys} standbys have flushed WAL position "
                    f"{text}, {connected} are connected",
                    "bring the standbys back; until then nothing is published",
                )
            time.sleep(_PAUSE_S)


def _flushed(conn: Connection[TupleRow]) -> int:
    row = conn.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
    return lsn(row[0]) if row else 0
