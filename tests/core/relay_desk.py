"""The driver's part, played by hand: a machine, its clock, and outcomes fed one by one."""

from collections.abc import Sequence
from typing import TypeVar

from bridge.core.backoff import Backoff
from bridge.core.batching import BatchLimits, EncodedRow, rows_taken
from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    CursorRead,
    Effect,
    Failed,
    JournalEffect,
    Opened,
    OpenPublisher,
    Outcome,
    PageRead,
    Publish,
    Published,
    ReadCursor,
    ReadPage,
    Stop,
    TopicsMatch,
    Verdict,
    WaitUntil,
)
from bridge.core.parking import ParkedEntity, ParkingChange
from bridge.core.positions import SequencePosition
from bridge.core.relay_machine import RelayMachine
from bridge.core.relay_settings import RelaySettings
from bridge.core.rows import RowKey
from bridge.errors import UnavailableError

__all__ = [
    "DEAD_LETTERS",
    "HOPELESS",
    "TOPIC",
    "Desk",
    "at",
    "committed",
    "failed",
    "go_to",
    "identity",
    "page",
    "publish_one",
    "published",
    "row",
]

TOPIC = TopicIdentity("shop.a", "id of shop.a", 6)
DEAD_LETTERS = TopicIdentity("shop--orders--dlq", "id of the dead letters", 6)
HOPELESS = "it cannot even be a dead letter"
E = TypeVar("E")


def row(number: int, pid: str = "e", nr: int | None = None, problem: str | None = None) -> "Row":
    """Row at place `number`; its event is `pid`/`nr`, by default the place."""
    nr = number if nr is None else nr
    records = () if problem else (f"{pid}/{nr}",)
    return EncodedRow(pid, nr, (number,), records, 10, (("shop.a", 0),), problem)


def page(
    *rows: "Row", end: int | None = None, drained: bool = False, batch_bytes: int = 1000
) -> PageRead[str]:
    """A page of rows that ends at `end`, by default behind the last row."""
    end = rows[-1].place[0] if end is None else end  # type: ignore[assignment]
    topics = (TOPIC,) if rows else ()
    return PageRead(rows, at(0), at(end or 0), drained, topics, batch_bytes)


def at(number: int) -> SequencePosition:
    """Position behind place `number`."""
    return SequencePosition(number)


def identity(witness: str) -> JournalIdentity:
    """The journal's identity with this witness."""
    return JournalIdentity("system", 1, witness)


def committed(number: int, owner: str = "former", witness: str = "w0") -> Cursor:
    """A cursor that an earlier relay committed at `number`."""
    start, here = at(0), at(number)
    return Cursor(
        "shop", "orders", 0, 1, owner, identity(witness), start, here, (TOPIC,), number, 5
    )


def failed(verdict: Verdict) -> Failed:
    """A failure with this verdict."""
    return Failed(verdict, UnavailableError(f"staged: {verdict.name}"))


def published(effect: Publish[str], now_ms: float, steps: int | None = None) -> Published:
    """What a publisher reports after the first `steps` steps, by default all, are committed."""
    sent = effect.batch.steps[:steps]
    cursor = effect.cursor.moved(sent[-1].position, rows_taken(sent), int(now_ms))
    return Published(len(sent), cursor)


class _Marker:
    """Records that say what became of a row."""

    def mark_late(self, row: "Row") -> "Row":
        return row._replace(records=tuple(f"{x} late" for x in row.records))

    def park(self, row: "Row", change: ParkingChange) -> "Row":  # noqa: ARG002
        if row.problem == HOPELESS:
            return row
        letters = (f"dlq {row.persistence_id}/{row.sequence_nr}",)
        return row._replace(records=letters if row.records or row.problem else (), problem=None)

    def release(self, row: "Row | None", change: ParkingChange) -> "Row":
        if row is None:
            row = EncodedRow(change.persistence_id, 0, (0,), (), 1, (), None)
        if change.discarded is not None:
            number, _ = change.discarded
            row = row._replace(records=(*row.records, f"discarded {row.persistence_id}/{number}"))
        return row

    def topics(self) -> list[TopicIdentity]:
        return [DEAD_LETTERS]


class Desk:
    """A machine at time `now`; `sent` are the records that were committed, in order."""

    def __init__(self, machine: RelayMachine[str] | None = None, **changes: object) -> None:
        settings: dict[str, object] = {
            "app": "shop",
            "journal": "orders",
            "owner": "me",
            "limits": BatchLimits(3, 1000, 10),
            "poll_interval_ms": 20,
            "retry": Backoff(100, 5_000),
            "witness_period_ms": 5_000,
            "topics_period_ms": 1_000_000,
            **changes,
        }
        self.now = 1_000.0
        self._ahead: Effect[str] | None = None
        self.sent: list[str] = []
        self.machine: RelayMachine[str] = machine or RelayMachine(
            RelaySettings(**settings),  # type: ignore[arg-type]
            _Marker(),
            1000,
            self.now,
        )

    def expect(self, kind: type[E]) -> E:
        """The next effect, which has to be of this kind.

        Before a transaction the machine may begin to read ahead: that read is kept for whoever
        expects it next.
        """
        ahead, self._ahead = self._ahead, None
        if kind is ReadPage and isinstance(ahead, kind):
            return ahead
        effect = self.machine.next_effect(self.now)
        if kind is Publish and isinstance(effect, ReadPage):
            ahead, effect = effect, self.machine.next_effect(self.now)
        if kind in (Publish, WaitUntil):
            self._ahead = ahead
        assert isinstance(effect, kind), effect
        return effect

    def beside(self) -> JournalEffect | None:
        """What is begun while a transaction is published."""
        return self.machine.beside(self.now)

    def answer(self, effect: Effect[str], outcome: Outcome[str]) -> None:
        """Report an outcome."""
        self.machine.receive(effect, outcome, self.now)

    def do(self, kind: type[Effect[str]], outcome: Outcome[str]) -> Effect[str]:
        """Expect an effect and answer it."""
        effect: Effect[str] = self.expect(kind)
        self.answer(effect, outcome)
        return effect

    def rest(self, at_least_ms: float = 0.0) -> None:
        """Expect a wait and let it pass."""
        wait = self.expect(WaitUntil)
        self.now = max(wait.at_ms, self.now + at_least_ms)

    def publish(self, steps: int | None = None) -> Publish[str]:
        """Expect a transaction and commit its first `steps` steps."""
        effect: Publish[str] = self.expect(Publish)
        outcome = published(effect, self.now, steps)
        for step in effect.batch.steps[: outcome.steps]:
            self.sent += () if step.row is None else step.row.records
        self.answer(effect, outcome)
        return effect

    def recall(self, cursor: Cursor | None, parked: Sequence[ParkedEntity] = ()) -> None:
        """Open a producer and read the cursor."""
        self.do(OpenPublisher, Opened())
        self.do(ReadCursor, CursorRead(cursor, parked))

    def attach(self, number: int, witness: str = "w0", recent: Sequence[RowKey] = ()) -> None:
        """Attach the journal at a position."""
        self.do(AttachJournal, Attached(identity(witness), at(number), recent))

    def start(
        self,
        cursor: Cursor | None = None,
        recent: Sequence[RowKey] = (),
        parked: Sequence[ParkedEntity] = (),
    ) -> "Desk":
        """From the beginning to the claim committed."""
        self.recall(cursor, parked)
        position = 0 if cursor is None else cursor.rows
        self.attach(position, recent=recent)
        self.do(CheckTopics, TopicsMatch())
        self.publish()
        return self

    def read(self, answer: PageRead[str]) -> ReadPage:
        """Read a page, whatever waits for the publisher."""
        effect = self.expect(ReadPage)
        self.answer(effect, answer)
        return effect

    def stopped(self) -> Stop:
        """Expect the end."""
        return self.expect(Stop)


def go_to(desk: Desk, reached: type[Effect[str]]) -> None:
    """Everything before the first effect of kind `reached`, from a cursor at 5."""
    answers: list[tuple[type[Effect[str]], Outcome[str]]] = [
        (OpenPublisher, Opened()),
        (ReadCursor, CursorRead(committed(5))),
        (AttachJournal, Attached(identity("w0"), at(5), ())),
        (CheckTopics, TopicsMatch()),
    ]
    for kind, outcome in answers:
        if kind is reached:
            return
        desk.do(kind, outcome)


def publish_one(desk: Desk, number: int) -> Publish[str]:
    """Read and commit one row, then find the journal drained."""
    desk.read(page(row(number)))
    ahead = desk.expect(ReadPage)
    transaction = desk.publish()
    desk.answer(ahead, page(end=number, drained=True))
    return transaction


Row = EncodedRow[str]
