"""PostgreSQL servers whose data folders are copied: a streaming standby, a backup put back."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.services import PostgresServer
from tests.services.ports import reserve_port
from tests.services.postgres import find_postgres_binaries, local_postgres
from tests.services.processes import ProcessRunner, scratch_folder
from tests.waiting import wait_until

__all__ = ["Backup", "Standby", "primary_server", "standby_of"]

_SYNC_LIMIT_S = 30.0


def _binaries() -> Path:
    binaries = find_postgres_binaries()
    if binaries is None:
        pytest.fail("install PostgreSQL: this test is about the data folders of local servers")
    return binaries


def _user() -> str | None:
    """Who runs the servers: they refuse to run as root."""
    return "postgres" if os.geteuid() == 0 else None


def _value(server: PostgresServer, query: str) -> object:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]


@contextmanager
def primary_server() -> Iterator[PostgresServer]:
    """A local server of the test's own, also where others run in containers."""
    with local_postgres(_binaries()) as server:
        yield server


class Standby:
    """A hot standby that streams from a primary.

    Attributes:
        server: its server; read-only until `promote`.
    """

    def __init__(self, server: PostgresServer) -> None:
        self.server = server

    def freeze(self) -> None:
        """Stop receiving: the connection stays, nothing more is written or confirmed."""
        os.kill(self._receiver(), signal.SIGSTOP)

    def resume(self) -> None:
        """End a `freeze`."""
        os.kill(self._receiver(), signal.SIGCONT)

    def promote(self) -> None:
        """Make it a primary on a timeline of its own."""
        assert _value(self.server, "SELECT pg_promote()") is True

    def _receiver(self) -> int:
        pid = wait_until(
            lambda: _value(self.server, "SELECT pid FROM pg_stat_wal_receiver"),
            _SYNC_LIMIT_S,
            "a WAL receiver",
        )
        assert isinstance(pid, int)
        return pid


@contextmanager
def standby_of(primary: PostgresServer) -> Iterator[Standby]:
    """A standby made by `pg_basebackup`, streaming when the block begins."""
    user = _user()
    folder = scratch_folder("standby", owner=user)
    data = folder / "data"
    command = [str(_binaries() / "pg_basebackup"), "--dbname", primary.url(), "--pgdata", str(data)]
    options = ["--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync"]
    subprocess.run(
        [*command, *options],
        cwd=folder,
        user=user,
        group=user,
        extra_groups=None if user is None else (),
        capture_output=True,
        check=True,
    )
    port = reserve_port()
    server = [str(_binaries() / "postgres"), "-D", str(data), "-c", f"port={port.number}"]
    runner = ProcessRunner(server, folder, stop_signal=signal.SIGINT, user=user)
    url = f"postgresql://postgres@127.0.0.1:{port.number}"
    with PostgresServer(url, runner, port) as running:
        running.start()
        streams = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        wait_until(lambda: _value(primary, streams), _SYNC_LIMIT_S, "the standby streams")
        yield Standby(running)


class Backup:
    """A copy of a server's files, taken while it is stopped; the server serves afterwards."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._data = Path(str(_value(server, "SHOW data_directory")))
        self._copy = self._data.with_name("backup")
        server.stop()
        self._take(self._data, self._copy)
        server.start()

    def put_back(self) -> None:
        """Make the server what it was when the copy was taken."""
        self._server.stop()
        shutil.rmtree(self._data)
        self._take(self._copy, self._data)
        self._server.start()

    @staticmethod
    def _take(source: Path, target: Path) -> None:
        # With owner and mode, which the server insists on.
        subprocess.run(["cp", "--archive", str(source), str(target)], check=True)
