"""The two lanes of the relay's machine, as adapters carry them out."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from bridge.core.batching import EncodedRow, Step, rows_taken
from bridge.core.cursor import Cursor, TopicIdentity
from bridge.core.effects import (
    AttachJournal,
    CheckTopics,
    ConfirmFencing,
    CursorRead,
    Failed,
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
    Superseded,
    TopicsMatch,
    Verdict,
    WitnessRenewed,
)
from bridge.core.rows import JournalRow
from bridge.envelope.cursor_codec import encode_cursor
from bridge.envelope.parked_codec import ParkedLedger
from bridge.envelope.parking import ParkingRecords
from bridge.envelope.records import OutboundRecord, RowEncoder
from bridge.errors import BridgeError, OperatorError, UnavailableError
from bridge.journals.base import Journal
from bridge.relay.catalog import TopicCatalog

__all__ = ["CursorStore", "JournalLane", "ParkedStore", "Publisher", "PublisherLane"]

_CHUNK_STEPS = 500
"""Steps produced between two looks at the clock."""

_FENCE_PAUSE_S = 0.25


class Publisher(Protocol):
    """The port to transactional publishing; see `bridge.kafka.publisher.KafkaPublisher`."""

    def open(self, batch_bytes: int) -> Failed | None:
        """Make a producer and fence every earlier one."""

    def begin(self) -> Failed | None:
        """Begin a transaction."""

    def send(self, records: Sequence[OutboundRecord]) -> Failed | None:
        """Queue records, in order."""

    def commit(self, cursor: bytes) -> Failed | None:
        """Send the cursor and commit."""

    def close(self) -> None:
        """Drop the producer."""


class CursorStore(Protocol):
    """The port to committed cursors."""

    def latest(self) -> Cursor | None:
        """The last committed cursor; raises errors of :mod:`bridge.errors`."""


class ParkedStore(Protocol):
    """The port to what is parked; raises errors of :mod:`bridge.errors`."""

    def read(self) -> ParkedLedger:
        """Everything that is committed."""

    def follow(self) -> ParkedLedger:
        """What is visible by now, without waiting."""


def _failed(error: BridgeError) -> Failed:
    retry = isinstance(error, UnavailableError)
    return Failed(Verdict.RETRY if retry else Verdict.STOP, error)


class JournalLane:
    """Reads and encodes; used by one thread at a time."""

    def __init__(
        self,
        journal: Journal,
        encoder: RowEncoder,
        catalog: TopicCatalog,
        parking: ParkingRecords,
        parked: ParkedStore,
        batch_bytes: int,
        wall_ms: Callable[[], int],
    ) -> None:
        self._journal = journal
        self._encoder = encoder
        self._catalog = catalog
        self._parking = parking
        self._parked = parked
        self._batch_bytes = batch_bytes
        self._wall_ms = wall_ms

    def perform(self, effect: JournalEffect) -> Outcome[OutboundRecord]:
        """Carry out one effect of the journal lane."""
        try:
            match effect:
                case AttachJournal():
                    self._catalog.forget()
                    return self._journal.attach(effect.cursor)
                case CheckTopics():
                    self._parking.learn(self._catalog.check(effect.stored, fresh=effect.fresh))
                    return TopicsMatch(tuple(self._parked.follow().requests.values()))
                case ReadPage():
                    return self._read(effect)
                case ReadParked():
                    return self._read_parked(effect)
                case RenewWitness():
                    return WitnessRenewed(self._journal.renew_witness(effect.committed))
        except BridgeError as e:
            return _failed(e)

    def interrupt(self) -> None:
        """Make the effect that is being performed fail soon."""
        self._journal.interrupt()

    def close(self) -> None:
        """Release the journal."""
        self._journal.close()

    def _read(self, effect: ReadPage) -> PageRead[OutboundRecord]:
        page = self._journal.read(effect.position, settle=effect.settle)
        read_at_ms = self._wall_ms()
        rows, topics, batch_bytes = self._encode(page.rows, read_at_ms)
        return PageRead(rows, page.window, page.end, page.drained, topics, batch_bytes, read_at_ms)

    def _read_parked(self, effect: ReadParked) -> ParkedRead[OutboundRecord]:
        entity = effect.entity
        found: Sequence[JournalRow] = ()
        more, problem = False, None
        try:
            found, more = self._journal.read_entity(
                entity.persistence_id, entity.first, entity.last
            )
        except OperatorError as e:  # it stays parked: that is no reason to stop everybody else
            problem = e.what
        rows, topics, batch_bytes = self._encode(found, self._wall_ms())
        return ParkedRead(rows, more, problem, topics, batch_bytes)

    def _encode(
        self, found: Sequence[JournalRow], now_ms: int
    ) -> tuple[list[EncodedRow[OutboundRecord]], list[TopicIdentity], int]:
        """Rows encoded, identities of their topics, most bytes of a batch that all topics take."""
        names = self._encoder.topics_of(found)
        topics = self._catalog.usable(names)
        limits = [f.max_message_bytes for n in names if not isinstance(f := topics[n], str)]
        rows = self._encoder.encode(found, topics, now_ms)
        smallest = min([self._batch_bytes, self._parking.batch_bytes, *limits])
        return rows, self._catalog.identities(names), smallest


@dataclass(frozen=True, slots=True)
class PublisherLane:
    """Publishes, one transaction at a time.

    Attributes:
        transaction_max_ms: a transaction that takes longer is committed with what it has.
        fence_wait_s: how long a rival may take to commit its first cursor.
    """

    publisher: Publisher
    cursors: CursorStore
    parked: ParkedStore
    transaction_max_ms: float
    clock_ms: Callable[[], float]
    wall_ms: Callable[[], int]
    fence_wait_s: float = 5.0

    def perform(
        self,
        effect: OpenPublisher | ReadCursor | Publish[OutboundRecord] | ConfirmFencing,
        meanwhile: Callable[[], None],
    ) -> Outcome[OutboundRecord]:
        """Carry out one effect of the publisher lane.

        Args:
            meanwhile: called now and then during a transaction, at the latest before its commit:
                keeps the journal lane busy.
        """
        match effect:
            case OpenPublisher():
                return self.publisher.open(effect.batch_bytes) or Opened()
            case ReadCursor():
                try:
                    # Only the producer that was opened before changes either: they agree.
                    cursor = self.cursors.latest()
                    return CursorRead(cursor, tuple(self.parked.read().entities.values()))
                except BridgeError as e:
                    return _failed(e)
            case Publish():
                return self._publish(effect, meanwhile)
            case ConfirmFencing():
                return self._confirm_fencing(effect.known)

    def _publish(
        self, effect: Publish[OutboundRecord], meanwhile: Callable[[], None]
    ) -> Published | Failed:
        began_ms = self.clock_ms()
        if failure := self.publisher.begin():
            return failure
        steps = effect.batch.steps
        sent = 0
        for chunk in _chunks(steps):
            records = [r for step in chunk if step.row is not None for r in step.row.records]
            if failure := self.publisher.send(records):
                return failure
            sent += len(chunk)
            meanwhile()
            if self.clock_ms() - began_ms >= self.transaction_max_ms:
                break
        rows = rows_taken(steps[:sent])
        cursor = effect.cursor.moved(steps[sent - 1].position, rows, self.wall_ms())
        if failure := self.publisher.commit(encode_cursor(cursor)):
            return failure
        return Published(sent, cursor)

    def _confirm_fencing(self, known: Sequence[str]) -> Superseded | Failed:
        deadline_ms = self.clock_ms() + 1000 * self.fence_wait_s
        while True:
            try:
                cursor = self.cursors.latest()
            except UnavailableError as e:
                if self.clock_ms() >= deadline_ms:
                    return _failed(e)
                cursor = None
            except BridgeError as e:
                return _failed(e)
            if cursor is not None and cursor.owner not in known:
                return Superseded(cursor.owner)
            if self.clock_ms() >= deadline_ms:
                return Superseded(None)
            time.sleep(_FENCE_PAUSE_S)


def _chunks(
    steps: Sequence[Step[OutboundRecord]],
) -> Iterator[Sequence[Step[OutboundRecord]]]:
    remaining = iter(steps)
    while chunk := list(islice(remaining, _CHUNK_STEPS)):
        yield chunk
