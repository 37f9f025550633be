"""A journal, a broker and a clumsy world around the relay's machine; every step is checked."""

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
    ParkedRead,
    Publish,
    Published,
    ReadCursor,
    ReadPage,
    ReadParked,
    RenewWitness,
    Stop,
    Superseded,
    TopicsMatch,
    Verdict,
    WaitUntil,
    WitnessRenewed,
)
from bridge.core.parking import ParkedEntity, ReleaseRequest
from bridge.core.positions import SequencePosition
from bridge.core.relay_machine import RelayMachine
from bridge.core.relay_settings import RelaySettings
from bridge.core.rows import RowKey
from bridge.errors import UnavailableError
from tests.core.world_parts import Broker, Journal, Marker, number_of

__all__ = ["World"]

Lane = AttachJournal | CheckTopics | ReadPage | ReadParked | RenewWitness


class World:
    """Drives machines through failures, lost answers and crashes.

    Args:
        rng: decides everything that happens.
        trouble: probability of each mishap.
        poison: probability that an event cannot be sent until something is mended.
    """

    def __init__(self, rng: Random, trouble: float, poison: float = 0.0) -> None:
        self._rng = rng
        self._trouble = trouble
        self._poison = poison
        self._asked = 0
        self._checked: Cursor | None = None
        self._seen: tuple[ReleaseRequest, ...] = ()
        self._batch_bytes = 1_000
        self._starts = 0
        self.now = 0.0
        self.journal = Journal()
        self.broker = Broker()
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
        self.machine: RelayMachine[int] = RelayMachine(settings, Marker(), 1_000, self.now)

    def heal(self) -> None:
        """From here on nothing goes wrong; what was wrong is mended, all releases are asked for."""
        self._trouble = 0.0
        self.journal.poison.clear()
        for pid in self.broker.parked:
            self._asked += 1
            self.broker.request(pid, self._asked)
        self.crash(until_caught_up=True)

    def step(self) -> Stop | None:
        """One thing happens; the end of the relay if that was it."""
        if self._hits():
            self.crash(until_caught_up=False)
        if self._trouble and self._rng.random() < 0.3:
            self.journal.grow(self._rng, self._poison)
        if self._trouble and self._rng.random() < self._poison:
            self._operate()
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
        if cursor is not self._checked:
            self._checked = cursor
            self.broker.check(self.journal)
        if cursor is not None:
            assert cursor.identity.witness in self.journal.witnesses, "its own journal is refused"

    def _operate(self) -> None:
        if not self.broker.parked:
            return
        entity = self.broker.parked[self._rng.choice(sorted(self.broker.parked))]
        if self._rng.random() < 0.5:
            self.journal.poison.discard(RowKey(entity.persistence_id, entity.first))
        self._asked += 1
        discard = entity.first if self._rng.random() < 0.2 else None
        self.broker.request(entity.persistence_id, self._asked, discard)

    def _perform(self, effect: Effect[int]) -> Stop | None:
        match effect:
            case AttachJournal() | CheckTopics() | ReadPage() | ReadParked() | RenewWitness():
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
                self._answer(
                    effect, CursorRead(self.broker.cursor, list(self.broker.parked.values()))
                )
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
                outcome = TopicsMatch(self._requests())
            case ReadPage(_, position):
                outcome = self._read(number_of(position))
            case ReadParked(_, entity):
                outcome = self._read_parked(entity)
            case RenewWitness(_, committed):
                outcome = self._renew(committed)
            case _:
                assert_never(effect)
        self._answer(effect, outcome)

    def _attach(self, cursor: Cursor | None) -> Attached:
        if cursor is None:
            return Attached(self._identity(self.journal.witnesses[0]), SequencePosition(0), ())
        assert cursor.identity.witness in self.journal.witnesses
        end = number_of(cursor.position)
        return Attached(cursor.identity, cursor.position, self.journal.rows[:end])

    def _renew(self, committed: JournalIdentity) -> WitnessRenewed:
        assert self.broker.cursor is not None
        assert committed == self.broker.cursor.identity, "no cursor names it yet"
        return WitnessRenewed(self._identity(self.journal.renew(committed.witness or "")))

    def _read(self, start: int) -> PageRead[int]:
        visible = len(self.journal.rows)
        end = min(visible, start + self._rng.randrange(7))
        rows = [self._encode(self.journal.rows[n - 1], n) for n in range(start + 1, end + 1)]
        topic = TopicIdentity("shop.a", "id", 6)
        here, behind = SequencePosition(start), SequencePosition(end)
        return PageRead(rows, here, behind, end == visible, [topic], self._batch_bytes)

    def _read_parked(self, entity: ParkedEntity) -> ParkedRead[int]:
        found = self.journal.of_entity(entity)
        taken = found[: self._rng.randint(1, 3)]
        rows = [self._encode(key, 0) for key in taken]
        topic = TopicIdentity("shop.a", "id", 6)
        return ParkedRead(rows, len(taken) < len(found), None, [topic], self._batch_bytes)

    def _requests(self) -> tuple[ReleaseRequest, ...]:
        """Open requests; now and then a commit is not visible yet."""
        if not self._hits():
            self._seen = tuple(self.broker.requests.values())
        return self._seen

    def _encode(self, key: RowKey, place: int) -> EncodedRow[int]:
        """The record is the most bytes that its topic takes in a batch."""
        if key in self.journal.untagged:
            return EncodedRow(*key, (place,), (), 0, (), None)
        if key in self.journal.poison:
            return EncodedRow(*key, (place,), (), 10, (), f"event {key} is too large")
        return EncodedRow(*key, (place,), (self._batch_bytes,), 10, (("shop.a", 0),), None)

    def _identity(self, witness: str) -> JournalIdentity:
        return JournalIdentity("system", 1, witness)

    def _hits(self) -> bool:
        return self._rng.random() < self._trouble

    def _failure(self) -> Failed:
        verdicts = (Verdict.RETRY, Verdict.NEW_PRODUCER, Verdict.FENCED)
        return Failed(self._rng.choice(verdicts), UnavailableError("staged"))
