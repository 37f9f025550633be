"""A journal, a broker and a clumsy world around the relay's machine; every step is checked."""

from dataclasses import dataclass, field
from random import Random
from typing import assert_never

from bridge.core.backoff import Backoff
from bridge.core.batching import BatchLimits, EncodedRow
from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    ConfirmFencing,
    CursorRead,
    Effect,
    Failed,
    Opened,
    OpenPublisher,
    Outcome,
    PageRead,
    Publish,
    Published,
    ReadCursor,
    ReadPage,
    RenewWitness,
    Stop,
    Superseded,
    TopicsMatch,
    Verdict,
    WaitUntil,
    WitnessRenewed,
)
from bridge.core.positions import Position, SequencePosition
from bridge.core.relay_machine import RelayMachine
from bridge.core.relay_settings import RelaySettings
from bridge.core.rows import RowKey
from bridge.errors import UnavailableError

__all__ = ["World"]

_ENTITIES = 3
Lane = AttachJournal | CheckTopics | ReadPage | RenewWitness


@dataclass
class _Journal:
    """Events in the order in which they became visible; some became visible twice."""

    rows: list[RowKey] = field(default_factory=list)
    witnesses: tuple[str, str] = ("w0", "")
    witnesses_written: int = 0

    def grow(self, rng: Random) -> None:
        for _ in range(rng.randrange(6)):
            if self.rows and rng.random() < 0.1:
                self.rows.append(rng.choice(self.rows[-8:]))
                continue
            pid = f"e{rng.randrange(_ENTITIES)}"
            count = sum(key.persistence_id == pid for key in set(self.rows))
            self.rows.append(RowKey(pid, count + 1))

    def renew(self, committed: str) -> str:
        self.witnesses_written += 1
        self.witnesses = (f"w{self.witnesses_written}", committed)
        return self.witnesses[0]

    def events(self, end: int) -> list[RowKey]:
        """The different events among the first `end` rows, in order: what must be published."""
        return list(dict.fromkeys(self.rows[:end]))


@dataclass
class _Broker:
    """Committed records and the last committed cursor: the truth."""

    published: list[RowKey] = field(default_factory=list)
    cursor: Cursor | None = None
    opened_with: int = 0

    def commit(self, effect: Publish[int], steps: int) -> Cursor:
        sent = effect.batch.steps[:steps]
        rows = [step.row for step in sent if step.row is not None]
        for row in rows:
            assert self.opened_with <= min(row.records), "a batch would be too large for a topic"
            self.published.append(RowKey(row.persistence_id, row.sequence_nr))
        self.cursor = effect.cursor.moved(sent[-1].position, len(rows), 1)
        return self.cursor


class World:
    """Drives machines through failures, lost answers and crashes.

    Args:
        rng: decides everything that happens.
        trouble: probability of each mishap.
    """

    def __init__(self, rng: Random, trouble: float) -> None:
        self._rng = rng
        self._trouble = trouble
        self._batch_bytes = 1_000
        self._starts = 0
        self.now = 0.0
        self.journal = _Journal()
        self.broker = _Broker()
        self.crash(until_caught_up=False)

    def crash(self, *, until_caught_up: bool) -> None:
        """The process dies and another begins."""
        self._starts += 1
        settings = RelaySettings(
            app="shop",
            journal="orders",
            owner=f"relay-{self._starts}",
            limits=BatchLimits(4, 1_000, 10),
            poll_interval_ms=20,
            until_caught_up=until_caught_up,
            start_limit_ms=float("inf"),
            witness_period_ms=50,
            topics_period_ms=300,
            idle_commit_ms=100,
            retry=Backoff(10, 80),
        )
        self._lanes: list[Lane] = []
        self.machine: RelayMachine[int] = RelayMachine(settings, lambda r: r, 1_000, self.now)

    def heal(self) -> None:
        """From here on nothing goes wrong and the journal no longer grows."""
        self._trouble = 0.0
        self.crash(until_caught_up=True)

    def step(self) -> Stop | None:
        """One thing happens; the end of the relay if that was it."""
        if self._hits():
            self.crash(until_caught_up=False)
        if self._trouble and self._rng.random() < 0.3:
            self.journal.grow(self._rng)
        if self._trouble and self._batch_bytes > 100 and self._rng.random() < 0.02:
            self._batch_bytes -= 300
        self.now += self._rng.randrange(5)
        if self._lanes and self._rng.random() < 0.5:
            self._finish_lane()
        end = self._perform(self.machine.next_effect(self.now))
        self._check()
        return end

    def _check(self) -> None:
        cursor = self.broker.cursor
        end = 0 if cursor is None else _number(cursor.position)
        assert self.broker.published == self.journal.events(end)
        if cursor is not None:
            assert cursor.rows == len(self.broker.published)
            assert cursor.identity.witness in self.journal.witnesses, "its own journal is refused"

    def _perform(self, effect: Effect[int]) -> Stop | None:
        match effect:
            case AttachJournal() | CheckTopics() | ReadPage() | RenewWitness():
                self._lanes.append(effect)
            case WaitUntil(at_ms):
                assert at_ms > self.now, "a wait that is over is a busy loop"
                self.now = self.now if self._lanes else at_ms
            case Stop():
                return effect
            case Publish():
                self._publish(effect)
            case OpenPublisher(batch_bytes):
                self.broker.opened_with = batch_bytes
                self._answer(effect, Opened())
            case ReadCursor():
                self._answer(effect, CursorRead(self.broker.cursor))
            case ConfirmFencing():
                self._answer(effect, Superseded(None))
            case _:
                assert_never(effect)
        return None

    def _answer(self, effect: Effect[int], outcome: Outcome[int]) -> None:
        self.machine.receive(effect, self._failure() if self._hits() else outcome, self.now)

    def _publish(self, effect: Publish[int]) -> None:
        while self._rng.random() < 0.5:
            if (beside := self.machine.beside(self.now)) is not None:
                self._perform(beside)
            if self._lanes and self._rng.random() < 0.7:
                self._finish_lane()
        steps = len(effect.batch.steps)
        if self._hits():
            steps = self._rng.randint(1, steps)
        if not self._hits():
            outcome: Published | Failed = Published(steps, self.broker.commit(effect, steps))
        else:
            if self._rng.random() < 0.5:  # committed, and the answer was lost
                self.broker.commit(effect, steps)
            outcome = self._failure()
        if self._hits():
            self.crash(until_caught_up=False)
        else:
            self.machine.receive(effect, outcome, self.now)

    def _finish_lane(self) -> None:
        """The journal's thread ends an effect, possibly one of a producer that is gone."""
        effect = self._lanes.pop(0)
        outcome: Outcome[int]
        match effect:
            case AttachJournal(_, cursor):
                outcome = self._attach(cursor)
            case CheckTopics():
                outcome = TopicsMatch()
            case ReadPage(_, position):
                outcome = self._read(_number(position))
            case RenewWitness(_, committed):
                outcome = self._renew(committed)
            case _:
                assert_never(effect)
        self._answer(effect, outcome)

    def _attach(self, cursor: Cursor | None) -> Attached:
        if cursor is None:
            return Attached(self._identity(self.journal.witnesses[0]), SequencePosition(0), ())
        assert cursor.identity.witness in self.journal.witnesses
        end = _number(cursor.position)
        return Attached(cursor.identity, cursor.position, self.journal.rows[:end])

    def _renew(self, committed: JournalIdentity) -> WitnessRenewed:
        assert self.broker.cursor is not None
        assert committed == self.broker.cursor.identity, "no cursor names it yet"
        return WitnessRenewed(self._identity(self.journal.renew(committed.witness or "")))

    def _read(self, start: int) -> PageRead[int]:
        visible = len(self.journal.rows)
        end = min(visible, start + self._rng.randrange(7))
        rows = [self._encode(number) for number in range(start + 1, end + 1)]
        topic = TopicIdentity("shop.a", "id", 6)
        here, behind = SequencePosition(start), SequencePosition(end)
        return PageRead(rows, here, behind, end == visible, [topic], self._batch_bytes)

    def _encode(self, number: int) -> EncodedRow[int]:
        """The record is the most bytes that its topic takes in a batch."""
        pid, nr = self.journal.rows[number - 1]
        return EncodedRow(pid, nr, (number,), (self._batch_bytes,), 10, (("shop.a", 0),), None)

    def _identity(self, witness: str) -> JournalIdentity:
        return JournalIdentity("system", 1, witness)

    def _hits(self) -> bool:
        return self._rng.random() < self._trouble

    def _failure(self) -> Failed:
        verdicts = (Verdict.RETRY, Verdict.NEW_PRODUCER, Verdict.FENCED)
        return Failed(self._rng.choice(verdicts), UnavailableError("staged"))


def _number(position: Position) -> int:
    assert isinstance(position, SequencePosition)
    return position.after
