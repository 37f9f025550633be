"""Writers that go on through crashes of their server: many small transactions, some undone."""

import random
import threading
import time
from itertools import count
from types import TracebackType
from typing import Self

import psycopg

from tests.hostile.events import Event, EventId
from tests.hostile.targets import BRIDGE, Connection
from tests.integration.stage import TAG

__all__ = ["Load"]

_PAUSE_S = 0.002


class Load:
    """Appends as a context manager; the truth is what the journal holds at the end.

    Args:
        asynchronous: commit without waiting for the disk.

    Attributes:
        committed: events whose commit has returned.
    """

    def __init__(
        self, url: str, *, threads: int = 3, asynchronous: bool = False, seed: int = 1
    ) -> None:
        self._url = url
        self._asynchronous = asynchronous
        self._attempts = count(1)
        self._stopped = threading.Event()
        self._errors: list[BaseException] = []
        self.committed = 0
        self._threads = [
            threading.Thread(target=self._run, args=(n, random.Random(f"{seed}/{n}")), daemon=True)
            for n in range(threads)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the writers."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)
        if self._errors:
            raise AssertionError("a writer failed") from self._errors[0]

    def _run(self, number: int, rng: random.Random) -> None:
        while not self._stopped.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as connection:
                    self._write(connection, number, rng)
            except psycopg.OperationalError:
                self._stopped.wait(0.05)  # the server is down: that is what the test is about
            except Exception as error:  # noqa: BLE001 - raised again where the load ends
                self._errors.append(error)
                return

    def _write(self, connection: Connection, number: int, rng: random.Random) -> None:
        if self._asynchronous:
            connection.execute("SET synchronous_commit = off")
        while not self._stopped.is_set():
            entity = f"w{number}-{rng.randrange(5)}"
            kind = rng.random()
            if kind < 0.2:
                _only_take_an_id(connection, rng)
            else:
                self._append(connection, entity, rng.choice((1, 1, 2, 5)), undo=kind < 0.4)
            time.sleep(_PAUSE_S)

    def _append(self, connection: Connection, entity: str, number: int, *, undo: bool) -> None:
        with connection.transaction(force_rollback=undo):
            head = BRIDGE.head(connection, entity) or EventId(entity, 0)
            BRIDGE.append(
                connection,
                [
                    Event(EventId(entity, head.sequence_nr + n), (TAG,), None, next(self._attempts))
                    for n in range(1, number + 1)
                ],
            )
        if not undo:
            self.committed += number


def _only_take_an_id(connection: Connection, rng: random.Random) -> None:
    """A transaction that raises the snapshot's upper end and writes nothing at all."""
    with connection.transaction(force_rollback=rng.random() < 0.5):
        connection.execute("SELECT pg_current_xact_id()")
