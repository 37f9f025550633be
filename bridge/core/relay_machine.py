"""The relay as a state machine: outcomes in, the next effect out, nothing done here.

Two lanes run side by side: the *journal lane* reads and encodes ahead, one effect at a time, also
in the middle of a transaction (`beside`); the *publisher lane* commits one transaction after the
other. A failure of the publisher lane drops everything read for it: the cursor in memory is valid
only for the producer under which it was read or committed.
"""

from dataclasses import replace
from typing import Generic, TypeVar

from bridge.core.batching import Batch, Step
from bridge.core.cursor import Cursor, TopicIdentity
from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    ConfirmFencing,
    CursorRead,
    Effect,
    Failed,
    IllegalOutcomeError,
    JournalEffect,
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
from bridge.core.intake import Intake
from bridge.core.lot import RowMarker
from bridge.core.positions import Position
from bridge.core.relay_beginning import cursor_lost, cursor_to_claim, taken_over
from bridge.core.relay_settings import Phase, RelaySettings, RelayStats
from bridge.core.releases import Releases
from bridge.core.upkeep import Upkeep
from bridge.errors import BridgeError, OperatorError

__all__ = ["Phase", "RelayMachine", "RelaySettings", "RelayStats"]

R = TypeVar("R")

_LANE_WAIT_MS = 1_000.0
"""Upper bound of one wait for the journal lane; its outcome ends the wait before."""


class RelayMachine(Generic[R]):
    """One shard of one journal.

    Args:
        settings: see :class:`RelaySettings`.
        marker: gives the records of late, parked and released rows.
        batch_bytes: most bytes of a record batch to open the first producer with.
        now_ms: the clock at the beginning.
    """

    def __init__(
        self,
        settings: RelaySettings,
        marker: RowMarker[R],
        batch_bytes: int,
        now_ms: float,
    ) -> None:
        self._settings = settings
        self._marker = marker
        self.intake: Intake[R] = Intake(settings, marker)
        self._upkeep = Upkeep(settings, now_ms)
        self._releases = Releases()
        self.phase = Phase.OPENING
        self.stats = RelayStats()
        self.cursor: Cursor | None = None
        self._batch_bytes = batch_bytes
        self._topics: dict[str, TopicIdentity] = {}
        self._known_owners: tuple[str, ...] = (settings.owner,)
        self._generation = 0
        self._lane: JournalEffect | None = None
        self._asked: Effect[R] | None = None
        self._failed_beside: Failed | None = None
        self._read_position: Position | None = None
        self._drained = False
        self._opened_bytes = batch_bytes
        self._claimed = False
        self._owned = False
        self._suspect: BridgeError | None = None
        self._end: BridgeError | None = None
        self._failures = 0
        self._deadline_ms: float | None = now_ms + settings.start_limit_ms
        self._retry_at_ms = self._committed_at_ms = now_ms

    # --- what to do next -------------------------------------------------------------------

    def stop(self) -> None:
        """Finish now: no transaction is open between effects, what was only read is read again."""
        self.phase = Phase.STOPPED

    def next_effect(self, now_ms: float) -> Effect[R]:
        """The next thing to do; journal-lane effects are to be begun, all others to be done.

        Raises:
            IllegalOutcomeError: the outcome of the effect to be done was not reported.
        """
        if self.phase is Phase.STOPPED:
            return Stop(self._end)
        if self._asked is not None:
            raise IllegalOutcomeError(f"no outcome was reported of {self._asked}")
        effect = self._choose(now_ms)
        if effect is not self._lane and not isinstance(effect, WaitUntil | Stop):
            self._asked = effect
        return effect

    def beside(self, now_ms: float) -> JournalEffect | None:
        """The next thing to begin on the journal lane; also while a transaction is published."""
        if self.phase is not Phase.RUNNING or self._lane is not None:
            return None
        effect = self._journal_work(now_ms)
        return None if effect is None else self._begin(effect)

    def _choose(self, now_ms: float) -> Effect[R]:
        if now_ms < self._retry_at_ms:
            return WaitUntil(self._retry_at_ms)
        if self.phase is Phase.RUNNING:
            return self._running(now_ms)
        return self._approach() if self._lane is None else WaitUntil(now_ms + _LANE_WAIT_MS)

    def _approach(self) -> Effect[R]:
        match self.phase:
            case Phase.OPENING:
                return OpenPublisher(self._batch_bytes)
            case Phase.RECALLING:
                return ReadCursor()
            case Phase.ATTACHING:
                return self._begin(AttachJournal(self._generation, self.cursor))
            case Phase.COMPARING:
                cursor = self._held_cursor()
                fresh = cursor.committed_at_ms == 0
                return self._begin(CheckTopics(self._generation, cursor.topics, fresh))
            case Phase.CLAIMING:
                cursor = self._held_cursor()
                return Publish(Batch((Step(None, cursor.position, None),)), cursor)
            case _:
                return ConfirmFencing(self._known_owners)

    def _running(self, now_ms: float) -> Effect[R]:
        if (effect := self.beside(now_ms)) is not None:
            return effect
        if (batch := self.intake.take()) is not None:
            topics = tuple(self._topics.values())
            return Publish(batch, replace(self._held_cursor(), topics=topics))
        if self._reopen:
            self._start_over(Phase.OPENING)
            return self._approach()
        if self._has_read_enough():
            self._end, self.phase = self.intake.halt, Phase.STOPPED
            return Stop(self._end)
        return WaitUntil(self._upkeep.poll_at_ms if self._lane is None else now_ms + _LANE_WAIT_MS)

    def _journal_work(self, now_ms: float) -> JournalEffect | None:
        cursor = self._held_cursor()
        topics = tuple(self._topics.values())
        if (effect := self._upkeep.due(now_ms, self._generation, cursor, topics)) is not None:
            return effect
        if self._must_end() or self.intake.full:
            return None
        reads = not self._is_caught_up() and now_ms >= self._upkeep.poll_at_ms
        if request := self._releases.next(self.intake.parked, page_due=reads):
            entity = self.intake.parked[request.persistence_id]
            return ReadParked(self._generation, entity, request)
        if not reads:
            return None
        position = self._read_position or cursor.position
        return ReadPage(self._generation, position, self._is_idle(now_ms))

    def _has_read_enough(self) -> bool:
        releasing = self._releases.first(self.intake.parked) is not None
        return self._must_end() or (self._is_caught_up() and not releasing)

    def _is_caught_up(self) -> bool:
        return self._drained and self._settings.until_caught_up

    def _must_end(self) -> bool:
        return self._reopen or self.intake.halt is not None

    @property
    def _reopen(self) -> bool:
        """Whether the producer batches more than some topic takes."""
        return self._batch_bytes < self._opened_bytes

    def _is_idle(self, now_ms: float) -> bool:
        return now_ms - self._committed_at_ms >= self._settings.idle_commit_ms

    def _begin(self, effect: JournalEffect) -> JournalEffect:
        if isinstance(effect, CheckTopics):
            self._upkeep.comparing(self.cursor)
        self._lane = effect
        return effect

    def _held_cursor(self) -> Cursor:
        if self.cursor is None:
            raise IllegalOutcomeError(f"no cursor in {self.phase}")
        return self.cursor

    # --- what has happened -----------------------------------------------------------------

    def receive(self, effect: Effect[R], outcome: Outcome[R], now_ms: float) -> None:
        """Take the outcome of an effect.

        Raises:
            IllegalOutcomeError: no such outcome was to be expected; nothing has changed.
        """
        if isinstance(effect, WaitUntil | Stop) or self.phase is Phase.STOPPED:
            return
        if getattr(effect, "generation", self._generation) != self._generation:
            return  # read for a producer that is gone
        if effect is not self._asked and effect is not self._lane:
            raise IllegalOutcomeError(f"{outcome} of {effect}, which nobody waits for")
        if effect is self._lane and self._asked is not None and isinstance(outcome, Failed):
            # It may start everything over: first it has to be known what was committed.
            self._failed_beside = outcome
            return
        self._dispatch(effect, outcome, now_ms)
        if effect is not self._asked:
            self._lane = None
            return
        failure, self._failed_beside, self._asked = self._failed_beside, None, None
        if failure is not None and self._lane is not None:
            self.receive(self._lane, failure, now_ms)

    def _dispatch(self, effect: Effect[R], outcome: Outcome[R], now_ms: float) -> None:
        match effect, outcome:
            case _, Failed():
                self._failed(effect, outcome, now_ms)
            case OpenPublisher(), Opened():
                self._opened_bytes = effect.batch_bytes
                self.phase = Phase.RECALLING
            case ReadCursor(), CursorRead():
                self._recalled(outcome)
            case AttachJournal(), Attached():
                self._attached(outcome, now_ms)
            case CheckTopics(), TopicsMatch():
                self._topics_match(outcome, now_ms)
            case ReadPage(), PageRead():
                self._page_read(effect, outcome, now_ms)
            case ReadParked(), ParkedRead():
                self._parked_read(effect, outcome)
            case RenewWitness(), WitnessRenewed():
                self.cursor = replace(self._held_cursor(), identity=outcome.identity)
                self._upkeep.witness_renewed(now_ms)
            case Publish(), Published():
                self._published(effect, outcome, now_ms)
            case ConfirmFencing(), Superseded():
                self._superseded(outcome, now_ms)
            case _:
                raise IllegalOutcomeError(f"{outcome} is no outcome of {effect}")

    def _recalled(self, outcome: CursorRead) -> None:
        found = outcome.cursor
        if found is not None and self._owned and found.owner not in self._known_owners:
            self._give_way(found.owner)  # it took over while this relay was cut off
            return
        if found is None and outcome.parked:
            self._end, self.phase = cursor_lost(self._settings, len(outcome.parked)), Phase.STOPPED
            return
        self.cursor = found
        self.intake.recall(outcome.parked)
        if found is not None and not self._owned:
            self._known_owners = (self._settings.owner, found.owner)
        self._topics = {t.name: t for t in outcome.cursor.topics} if outcome.cursor else {}
        self._claimed = False
        self.phase = Phase.ATTACHING

    def _attached(self, outcome: Attached, now_ms: float) -> None:
        self.cursor = cursor_to_claim(self._settings, self.cursor, outcome)
        self._read_position = outcome.position
        self._drained = False
        self._upkeep.attached(now_ms)
        self.intake.reset(outcome.position, outcome.recent)
        self.phase = Phase.RUNNING if self._claimed else Phase.COMPARING

    def _topics_match(self, outcome: TopicsMatch, now_ms: float) -> None:
        self._upkeep.topics_match(now_ms)
        for request in self._releases.listed(outcome.requests, self.intake.parked):
            self.intake.answer(request)
            self._releases.answered(request)
        if self.phase is Phase.COMPARING:
            self.phase = Phase.CLAIMING

    def _page_read(self, effect: ReadPage, page: PageRead[R], now_ms: float) -> None:
        if self._takes_less(page):
            return
        self._read_position, self._drained = page.end, page.drained
        if page.rows:
            self._upkeep.rows_read()
            self.intake.accept(page)
            self._use_topics(page)
        elif page.drained:
            self._upkeep.nothing_read(now_ms)
            if effect.settle:
                self.intake.mark(page.end)

    def _parked_read(self, effect: ReadParked, read: ParkedRead[R]) -> None:
        if self._takes_less(read):
            return
        if self.intake.release(effect.request, read):
            self._releases.answered(effect.request)
        self._use_topics(read)

    def _takes_less(self, read: PageRead[R] | ParkedRead[R]) -> bool:
        """Whether a topic takes less than the producer may batch: small records would fail too."""
        if read.batch_bytes >= self._opened_bytes:
            return False
        self._batch_bytes = min(self._batch_bytes, read.batch_bytes)
        return True

    def _use_topics(self, read: PageRead[R] | ParkedRead[R]) -> None:
        internal = self._marker.topics() if self.intake.parked else ()
        for topic in (*read.topics, *internal):
            self._topics.setdefault(topic.name, topic)

    def _published(self, effect: Publish[R], outcome: Published, now_ms: float) -> None:
        if not 0 < outcome.steps <= len(effect.batch.steps):
            raise IllegalOutcomeError(f"{outcome.steps} steps of {len(effect.batch.steps)}")
        self.intake.committed(effect.batch.steps[: outcome.steps])
        self.intake.put_back(effect.batch.steps[outcome.steps :])
        identity = self._held_cursor().identity  # the witness may have been renewed meanwhile
        self.cursor = replace(outcome.cursor, identity=identity)
        rows = outcome.cursor.rows - effect.cursor.rows
        self.stats.rows += rows
        self.stats.transactions += 1
        self._upkeep.committed(rows, effect.cursor.identity, identity)
        self._committed_at_ms = now_ms
        if self._claimed:  # a claim always succeeds where only a tag topic refuses
            self._failures = 0
        self._deadline_ms = None
        self._claimed = self._owned = True
        self._known_owners = (self._settings.owner,)
        self.phase = Phase.RUNNING

    def _superseded(self, outcome: Superseded, now_ms: float) -> None:
        if outcome.by is not None:
            self._give_way(outcome.by)
            return
        if self._suspect is not None:
            self._end, self.phase = self._suspect, Phase.STOPPED
            return
        self._pause(now_ms)  # a broker-side time-out fences too; alone, the relay goes on
        self._start_over(Phase.OPENING)

    def _give_way(self, rival: str) -> None:
        self._end, self.phase = taken_over(self._settings, rival), Phase.STOPPED

    # --- failures --------------------------------------------------------------------------

    def _failed(self, effect: Effect[R], outcome: Failed, now_ms: float) -> None:
        self.stats.failures += 1
        self.stats.last_error = outcome.error
        late = self._deadline_ms is not None and now_ms >= self._deadline_ms
        if isinstance(effect, AttachJournal) and outcome.verdict is Verdict.STOP and self._owned:
            # A successor that has renewed the witness looks like a restored database.
            self._suspect = outcome.error
            self._start_over(Phase.JUDGING)
            return
        if outcome.verdict is Verdict.STOP or (late and outcome.verdict is not Verdict.FENCED):
            error = outcome.error
            if isinstance(effect, CheckTopics) and isinstance(error, OperatorError):
                error = self._upkeep.with_doubtful_range(error, self.cursor)
            self._end, self.phase = error, Phase.STOPPED
            return
        self._pause(now_ms)
        if outcome.verdict is Verdict.FENCED:
            self.stats.fenced += 1
            self._start_over(Phase.JUDGING)
        elif isinstance(effect, ReadPage | ReadParked | RenewWitness | AttachJournal):
            self._start_over(Phase.ATTACHING)  # the producer and its cursor stay valid
        elif isinstance(effect, OpenPublisher | Publish):
            self._start_over(Phase.OPENING)
        # Reading the cursor, comparing topics and judging a fence are simply tried again.

    def _pause(self, now_ms: float) -> None:
        self._failures += 1
        self._retry_at_ms = now_ms + self._settings.retry.delay_ms(self._failures)

    def _start_over(self, phase: Phase) -> None:
        self._generation += 1
        self._lane = None
        self.intake.reset()
        self._releases.forget_answers()
        self._read_position = None
        self.phase = phase
