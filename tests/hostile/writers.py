"""Eight applications at their worst, each a thread with its own connection."""

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import psycopg
from psycopg import sql

from tests.hostile.events import Event, EventId
from tests.hostile.ledger import Ledger
from tests.hostile.plans import Ending, Plan, Step, draw_plan, draw_tags
from tests.hostile.targets import Connection, Target

__all__ = ["HostileWriters"]

_SLOW_S = 0.5


class HostileWriters:
    """Concurrent writers that stop when `rows` events are committed (the last few overshoot).

    Args:
        url: libpq address of an unprivileged role that may append to the journal.
        target: what they write to.
        rows: events to commit.
        writers: number of threads.
        seed: source of every choice; the interleaving remains the machine's.
    """

    def __init__(
        self, url: str, target: Target, rows: int, writers: int = 8, seed: int = 0
    ) -> None:
        self._url = url
        self._target = target
        self._ledger = Ledger(rows)
        self._abandoned = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(n, random.Random(f"{seed}/{n}")), daemon=True)
            for n in range(writers)
        ]

    @property
    def committed(self) -> int:
        """Events committed so far."""
        return self._ledger.committed

    @property
    def running(self) -> bool:
        """True until every writer has ended."""
        return any(thread.is_alive() for thread in self._threads)

    @property
    def done(self) -> Counter[str]:
        """How often each kind of hostility happened."""
        return self._ledger.done

    def start(self) -> None:
        """Let them loose."""
        for thread in self._threads:
            thread.start()

    def abandon(self) -> None:
        """End them as soon as may be; for a run that has failed."""
        self._abandoned.set()
        for thread in self._threads:
            thread.join()

    def ground_truth(self, timeout_s: float) -> list[Event]:
        """Wait for the end; what they committed, which is also what the journal holds.

        Raises:
            AssertionError: not ended in time, a writer failed, or the journal holds otherwise.
        """
        deadline_s = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        assert not self.running, f"only {self.committed} rows after {timeout_s:.0f} s"
        if self._errors:
            raise AssertionError("a writer failed") from self._errors[0]
        events = self._ledger.events()
        written = {event.id: (event.tags, event.payload) for event in events}
        assert written == self._target.stored(self._url)
        return events

    def _run(self, writer: int, rng: random.Random) -> None:
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                while not self._ledger.full and not self._abandoned.is_set():
                    _Transaction(
                        self._target, connection, self._ledger, rng, writer, self._abandoned
                    ).run(draw_plan(rng))
        except Exception as error:  # noqa: BLE001 - raised again where the run is judged
            self._errors.append(error)
            self._abandoned.set()


@dataclass
class _Transaction:
    """One transaction of one writer.

    It owns its entities only after an early transaction id and the pause that follows: meanwhile
    others write and commit events of the same entities under later ids.
    """

    target: Target
    connection: Connection
    ledger: Ledger
    rng: random.Random
    writer: int
    abandoned: threading.Event
    events: list[Event] = field(default_factory=list)

    def run(self, plan: Plan) -> None:
        self._begin(plan)
        self.abandoned.wait(plan.pause_before_write_s)
        with self.ledger.claim(self.rng, plan.entities) as heads:
            for step in plan.steps:
                self._step(step, heads)
            self._end(plan)
        self._note(plan)

    def _begin(self, plan: Plan) -> None:
        self.connection.execute("BEGIN")
        if plan.asynchronous:
            self.connection.execute("SET LOCAL synchronous_commit = off")
        if plan.early_xid:
            self.connection.execute("SELECT pg_current_xact_id()")

    def _step(self, step: Step, heads: dict[str, int]) -> None:
        entity = sorted(heads)[step.slot % len(heads)]
        cause = self._cause(heads) if step.effect else None
        events = self._draw_events(entity, heads[entity], step.events, cause)
        if step.savepoint:
            self.connection.execute("SAVEPOINT hostile")
        self.target.append(self.connection, events)
        if step.undone:
            self.connection.execute("ROLLBACK TO SAVEPOINT hostile")
            return
        if step.savepoint:
            self.connection.execute("RELEASE SAVEPOINT hostile")
        heads[entity] += len(events)
        self.events += events

    def _cause(self, heads: dict[str, int]) -> EventId | None:
        """Read what somebody committed: from here on its event is in this one's past."""
        return self.target.head(self.connection, self.ledger.somebody_elses(self.rng, heads))

    def _draw_events(
        self, entity: str, head: int, count: int, cause: EventId | None
    ) -> list[Event]:
        return [
            Event(
                EventId(entity, head + n),
                draw_tags(self.rng),
                cause if n == 1 else None,
                self.writer,
            )
            for n in range(1, count + 1)
        ]

    def _end(self, plan: Plan) -> None:
        gid = f"hostile-{self.writer}-{self.rng.getrandbits(64):x}"
        if plan.ending.prepared:
            self._execute("PREPARE TRANSACTION {}", gid)
        self.abandoned.wait(plan.pause_before_end_s)
        match plan.ending:
            case Ending.COMMIT | Ending.ROLLBACK:
                self.connection.execute(plan.ending.upper())
            case Ending.COMMIT_PREPARED | Ending.ROLLBACK_PREPARED:
                self._execute(f"{plan.ending.upper()} {{}}", gid)
        if plan.ending.commits:
            self.ledger.commit(self.events)

    def _note(self, plan: Plan) -> None:
        self.ledger.note(
            plan.ending,
            *["early xid"] * plan.early_xid,
            *["asynchronous"] * plan.asynchronous,
            *["slow"] * (plan.pause_before_end_s >= _SLOW_S),
            *["savepoint undone"] * any(step.undone for step in plan.steps),
            *["effect"] * sum(event.cause is not None for event in self.events),
        )

    def _execute(self, statement: str, literal: str) -> None:
        query = sql.SQL(statement).format(sql.Literal(literal))
        self.connection.execute(query)
