"""Effect → adapter → outcome: the loop around the machine."""

from collections import deque
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue

import structlog

from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    Effect,
    Failed,
    JournalEffect,
    Outcome,
    Published,
    ReadPage,
    ReadParked,
    RenewWitness,
    Stop,
    Verdict,
    WaitUntil,
)
from bridge.core.relay_machine import RelayMachine
from bridge.envelope.records import OutboundRecord
from bridge.relay.lanes import JournalLane, PublisherLane
from bridge.relay.worker import LaneWorker

__all__ = ["RelayDriver"]

_log = structlog.get_logger("bridge.relay")

FENCED_ALARM = 3
"""Fencings within a minute that are worth an alarm: two relays are probably at it."""

MINUTE_MS = 60_000

Worker = LaneWorker[JournalEffect, Outcome[OutboundRecord]]
Message = tuple[JournalEffect, Outcome[OutboundRecord] | BaseException] | None


class RelayDriver:
    """Runs one shard: the machine and the publisher lane here, the journal lane on a thread.

    Args:
        clock_ms: monotonic milliseconds, the machine's clock.
    """

    def __init__(
        self,
        machine: RelayMachine[OutboundRecord],
        journal_lane: JournalLane,
        publisher_lane: PublisherLane,
        clock_ms: Callable[[], float],
    ) -> None:
        self._machine = machine
        self._journal = journal_lane
        self._publisher = publisher_lane
        self._clock_ms = clock_ms
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._stopping = False
        self._reported = self._reported_parkings = (0, 0)
        self._fenced_ms: deque[float] = deque(maxlen=FENCED_ALARM)

    def stop(self) -> None:
        """Ask for a clean end; safe in a signal handler and from any thread."""
        self._stopping = True
        self._inbox.put(None)

    @property
    def topics(self) -> list[str]:
        """Names of the tag topics used so far."""
        cursor = self._machine.cursor
        return [topic.name for topic in cursor.topics] if cursor else []

    def run(self) -> None:
        """Relay until stopped, caught up or failed.

        Raises:
            BridgeError: why it cannot go on.
        """
        worker = LaneWorker(self._journal.perform, self._deliver, self._journal.interrupt)
        try:
            self._loop(worker)
        finally:
            # The producer first: it holds the open transaction that readers may be waiting for.
            self._publisher.publisher.close()
            if worker.end():
                self._journal.close()

    def _loop(self, worker: Worker) -> None:
        while True:
            self._take_outcomes(wait_ms=0)
            if self._stopping:
                self._machine.stop()
            effect = self._machine.next_effect(self._clock_ms())
            match effect:
                case Stop():
                    if effect.error is not None:
                        raise effect.error
                    return
                case WaitUntil():
                    self._take_outcomes(wait_ms=effect.at_ms - self._clock_ms())
                case AttachJournal() | CheckTopics() | ReadPage() | ReadParked() | RenewWitness():
                    worker.submit(effect)
                case _:
                    meanwhile = partial(self._meanwhile, worker)
                    self._receive(effect, self._publisher.perform(effect, meanwhile))

    def _meanwhile(self, worker: Worker) -> None:
        self._take_outcomes(wait_ms=0)
        effect = self._machine.beside(self._clock_ms())
        if effect is not None:
            worker.submit(effect)

    def _deliver(
        self, effect: JournalEffect, outcome: Outcome[OutboundRecord] | BaseException
    ) -> None:
        self._inbox.put((effect, outcome))

    def _take_outcomes(self, wait_ms: float) -> None:
        """Hand waiting outcomes to the machine; the first may take `wait_ms` to come."""
        timeout_s = max(0.0, wait_ms / 1000)
        try:
            message = self._inbox.get(timeout=timeout_s) if timeout_s else self._inbox.get_nowait()
            while True:
                if message is not None:
                    effect, outcome = message
                    if isinstance(outcome, BaseException):
                        raise outcome
                    self._receive(effect, outcome)
                message = self._inbox.get_nowait()
        except Empty:
            return

    def _receive(self, effect: Effect[OutboundRecord], outcome: Outcome[OutboundRecord]) -> None:
        self._machine.receive(effect, outcome, self._clock_ms())
        match outcome:
            case Failed():
                _log.warning(
                    "failed", during=type(effect).__name__, verdict=outcome.verdict.name,
                    error=outcome.error.what,
                )  # fmt: skip
                self._alarm_if_fenced_often(outcome)
            case Attached():
                _log.info("attached", position=str(outcome.position))
            case Published():
                self._report_dropped()
                self._report_parked()
            case _:
                pass

    def _report_dropped(self) -> None:
        dropped, late = self._machine.intake.duplicates_dropped, self._machine.intake.late
        if (dropped, late) != self._reported:
            _log.warning("rows_out_of_the_ordinary", duplicates_dropped=dropped, late=late)
            self._reported = (dropped, late)

    def _report_parked(self) -> None:
        intake = self._machine.intake
        if intake.parkings != self._reported_parkings:
            parked, released = self._reported_parkings = intake.parkings
            _log.warning(
                "parked", events=parked, releases=released, entities_waiting=len(intake.parked)
            )

    def _alarm_if_fenced_often(self, failure: Failed) -> None:
        if failure.verdict is not Verdict.FENCED:
            return
        now_ms = self._clock_ms()
        self._fenced_ms.append(now_ms)
        if len(self._fenced_ms) == FENCED_ALARM and now_ms - self._fenced_ms[0] <= MINUTE_MS:
            _log.error("fenced_repeatedly", times=FENCED_ALARM, within_s=MINUTE_MS // 1000)
