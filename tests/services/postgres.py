"""A PostgreSQL server for tests."""

import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.services.ports import ReservedPort, reserve_port
from tests.services.processes import ProcessRunner, scratch_folder
from tests.services.runners import Runner
from tests.waiting import wait_until

__all__ = [
    "PostgresFactory",
    "PostgresServer",
    "find_postgres_binaries",
    "local_postgres",
    "postgres_settings",
]

_OLDEST_MAJOR = 15
_READY_LIMIT_S = 60.0


class PostgresServer:
    """A running server and the databases that tests make on it. As a context manager it is closed.

    Attributes:
        host: name or address.
        port: TCP port; the same after every restart.
    """

    def __init__(self, base_url: str, runner: Runner, reserved: ReservedPort | None = None) -> None:
        self._base = urlsplit(base_url)
        self._runner = runner
        self._reserved = reserved
        self._closed = False
        self.host = self._base.hostname or "127.0.0.1"
        self.port = self._base.port or 5432

    def url(self, database: str = "postgres") -> str:
        """Address of a database, as libpq and SQLAlchemy read it."""
        return urlunsplit(self._base._replace(path=f"/{database}"))

    def create_database(self, prefix: str = "test") -> str:
        """Create an empty database with a name of its own; returns its address."""
        name = f"{prefix}_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database with its sessions and prepared transactions."""
        name = urlsplit(url).path.removeprefix("/")
        with psycopg.connect(url, autocommit=True) as connection:
            prepared = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
            for (gid,) in connection.execute(prepared).fetchall():
                connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))
        with psycopg.connect(self.url(), autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(drop)

    def start(self) -> None:
        """Start the server (after a `kill`: with crash recovery) and wait until it serves."""
        self._runner.start()
        wait_until(self._serves, _READY_LIMIT_S, f"PostgreSQL serves on port {self.port}")

    def stop(self) -> None:
        """Fast shutdown: sessions are ended, everything is flushed."""
        self._runner.stop()

    def kill(self) -> None:
        """Crash: SIGKILL to the postmaster and all its children at once."""
        self._runner.kill()

    def close(self) -> None:
        """End the server and remove its data; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._runner.close()
        if self._reserved is not None:
            self._reserved.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _serves(self) -> bool:
        if not self._runner.running:
            raise RuntimeError(f"PostgreSQL ended at start:\n{self._runner.log_tail()}")
        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class PostgresFactory(Protocol):
    """Starts a disposable server; settings are lines of postgresql.conf."""

    def __call__(self, settings: Mapping[str, str] | None = None) -> PostgresServer:
        """Start one and wait until it serves."""
        ...


def postgres_settings(port: int, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Server settings of every test server, overridden by `extra`."""
    return {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "wal_level": "logical",
        "max_prepared_transactions": "20",
        "max_connections": "200",
        "fsync": "on",
        "shared_buffers": "64MB",
        **(extra or {}),
    }


def find_postgres_binaries() -> Path | None:
    """Folder with the newest usable `initdb` and `postgres` of this machine."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    on_path = shutil.which("postgres")
    candidates = [*debian, *([Path(on_path).resolve()] if on_path else [])]
    found = [(major, path.parent) for path in candidates if (major := _major(path)) is not None]
    return max(found)[1] if found else None


def _major(postgres: Path) -> int | None:
    if not postgres.with_name("initdb").exists():
        return None
    printed = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=True)
    major = int(printed.stdout.split()[2].split(".")[0].split("devel")[0])
    return major if major >= _OLDEST_MAJOR else None


def local_postgres(binaries: Path, settings: Mapping[str, str] | None = None) -> PostgresServer:
    """A started server with a data folder of its own, from locally installed binaries."""
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    port = reserve_port()
    folder = scratch_folder("postgres", owner=user)
    data = folder / "data"
    _initialise(binaries, data, user)
    lines = (
        f"{key} = '{value}'\n" for key, value in postgres_settings(port.number, settings).items()
    )
    with (data / "postgresql.conf").open("a") as config:
        config.writelines(lines)
    command = [str(binaries / "postgres"), "-D", str(data)]
    runner = ProcessRunner(command, folder, stop_signal=signal.SIGINT, user=user)
    server = PostgresServer(f"postgresql://postgres@127.0.0.1:{port.number}", runner, port)
    server.start()
    return server


def _initialise(binaries: Path, data: Path, user: str | None) -> None:
    options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    done = subprocess.run(
        [str(binaries / "initdb"), "-D", str(data), *options],
        cwd=data.parent,
        user=user,
        group=user,
        extra_groups=None if user is None else (),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")
