"""Effect → adapter → outcome: the loop around the machine."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

import structlog

from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    Effect,
    Failed,
    Outcome,
    ReadPage,
    RenewWitness,
    Stop,
    WaitUntil,
)
from bridge.core.relay_machine import RelayMachine
from bridge.envelope.records import OutboundRecord
from bridge.relay.lanes import JournalLane, PublisherLane

__all__ = ["RelayDriver"]

_log = structlog.get_logger("bridge.relay")

JournalEffect = AttachJournal | CheckTopics | ReadPage | RenewWitness
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

    def stop(self) -> None:
        """Ask for a clean end; safe in a signal handler and from any thread."""
        self._stopping = True
        self._inbox.put(None)

    def run(self) -> None:
        """Relay until stopped, caught up or failed.

        Raises:
            BridgeError: why it cannot go on.
        """
        executor = ThreadPoolExecutor(1, "bridge-journal")
        try:
            self._loop(executor)
        finally:
            # The producer first: it holds the open transaction that readers may be waiting for.
            self._publisher.publisher.close()
            executor.shutdown(wait=True, cancel_futures=True)
            self._journal.close()

    def _loop(self, executor: ThreadPoolExecutor) -> None:
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
                case AttachJournal() | CheckTopics() | ReadPage() | RenewWitness():
                    self._begin(executor, effect)
                case _:
                    self._receive(effect, self._publisher.perform(effect))

    def _begin(self, executor: ThreadPoolExecutor, effect: JournalEffect) -> None:
        def deliver(future: "Future[Outcome[OutboundRecord]]") -> None:
            if not future.cancelled():
                self._inbox.put((effect, future.exception() or future.result()))

        executor.submit(self._journal.perform, effect).add_done_callback(deliver)

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
            case Attached():
                _log.info("attached", position=str(outcome.position))
            case _:
                pass
