"""Concurrent writers: the application that appends to the journal."""

import itertools
import json
import random
import threading
import time
from dataclasses import dataclass

from bridge.core.rows import RowKey
from bridge.demo.background import Background
from bridge.demo.databases import Database
from bridge.demo.story import ACCOUNTS, WRITERS, account, work_of

__all__ = ["Committed", "Writers"]


@dataclass(frozen=True, slots=True)
class Committed:
    """An event that was committed, as its writer knows.

    Attributes:
        timestamp_ms: the event's own time.
        committed_ms: when the commit had returned.
    """

    key: RowKey
    timestamp_ms: int
    committed_ms: int


class Writers:
    """Threads that append until there are `events` of them, or the time is up.

    Args:
        limit_s: how long they write at most.
        fair: take an event's time when no other writer is at work.
    """

    def __init__(self, database: Database, events: int, limit_s: float, *, fair: bool) -> None:
        self.committed: list[Committed] = []
        self._database = database
        self._fair = fair
        self._numbers = itertools.count(1)
        self._events = events
        self._deadline = time.monotonic() + limit_s
        self._stop = threading.Event()
        self._threads = [
            Background(f"writer-{i}", lambda i=i: self._write(i), self._stop.set)  # type: ignore[misc]
            for i in range(WRITERS)
        ]

    @property
    def done(self) -> bool:
        """Whether all is written; raises what has kept a writer from it."""
        for thread in self._threads:
            thread.check()
        return not any(thread.alive for thread in self._threads)

    def stop(self) -> None:
        """Write no more; returns when every writer has ended."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, writer: int) -> None:
        accounts = [account(n) for n in range(writer, ACCOUNTS, WRITERS)]
        last = dict.fromkeys(accounts, 0)
        session = self._database.connect()
        try:
            while (number := next(self._numbers)) <= self._events and not self._is_over():
                pid = random.choice(accounts)
                key = RowKey(pid, last[pid] + 1)
                payload = json.dumps({"amount": random.randint(1, 100)})
                pause_s = random.uniform(*work_of(number))
                at_ms = session.append(
                    key,
                    payload,
                    lambda pause_s=pause_s: self._stop.wait(pause_s),  # type: ignore[misc]
                    fair=self._fair,
                )
                last[pid] += 1
                self.committed.append(Committed(key, at_ms, time.time_ns() // 1_000_000))
        finally:
            session.close()

    def _is_over(self) -> bool:
        return self._stop.is_set() or time.monotonic() > self._deadline
