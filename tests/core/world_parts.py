"""Journal, broker and operator of `relay_world`: what is true, whatever the relay says."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from bridge.core.batching import EncodedRow, rows_taken
from bridge.core.cursor import Cursor, TopicIdentity
from bridge.core.effects import Publish
from bridge.core.parking import ParkedEntity, ParkingChange, ReleaseRequest
from bridge.core.positions import Position, SequencePosition
from bridge.core.rows import RowKey

__all__ = ["Broker", "Journal", "Marker", "number_of"]

_ENTITIES = 4
_SMALLEST_BATCH = 1_000_000


@dataclass
class Journal:
    """Events in the order in which they became visible; some became visible twice.

    Attributes:
        poison: events that cannot be sent as things are.
        untagged: events that belong to no topic.
    """

    rows: list[RowKey] = field(default_factory=list)
    witnesses: tuple[str, str] = ("w0", "")
    witnesses_written: int = 0
    poison: set[RowKey] = field(default_factory=set)
    ever_poison: set[str] = field(default_factory=set)
    untagged: set[RowKey] = field(default_factory=set)

    def grow(self, rng: Random, poison: float) -> None:
        for _ in range(rng.randrange(6)):
            if self.rows and rng.random() < 0.1:
                self.rows.append(rng.choice(self.rows[-8:]))
                continue
            pid = f"e{rng.randrange(_ENTITIES)}"
            count = sum(key.persistence_id == pid for key in set(self.rows))
            key = RowKey(pid, count + 1)
            self.rows.append(key)
            if rng.random() < 0.1:
                self.untagged.add(key)
            elif rng.random() < poison:
                self.poison.add(key)
                self.ever_poison.add(pid)

    def renew(self, committed: str) -> str:
        self.witnesses_written += 1
        self.witnesses = (f"w{self.witnesses_written}", committed)
        return self.witnesses[0]

    def events(self, end: int) -> list[RowKey]:
        """The different events among the first `end` rows, in order."""
        return list(dict.fromkeys(self.rows[:end]))

    def of_entity(self, entity: ParkedEntity) -> list[RowKey]:
        """What a read of the entity's waiting events finds, in the order of their numbers."""
        found = {key for key in self.rows if key.persistence_id == entity.persistence_id}
        return sorted(key for key in found if entity.first <= key.sequence_nr <= entity.last)


@dataclass
class Broker:
    """Committed records, the last committed cursor and the state of parked entities."""

    published: list[RowKey] = field(default_factory=list)
    letters: list[RowKey] = field(default_factory=list)
    discarded: list[RowKey] = field(default_factory=list)
    parked: dict[str, ParkedEntity] = field(default_factory=dict)
    requests: dict[str, ReleaseRequest] = field(default_factory=dict)
    answers: int = 0
    refused: int = 0
    cursor: Cursor | None = None
    opened_with: int = 0

    def commit(self, effect: Publish[int], steps: int) -> Cursor:
        sent = effect.batch.steps[:steps]
        for step in sent:
            if step.row is not None:
                smallest = min(step.row.records, default=_SMALLEST_BATCH)
                assert self.opened_with <= smallest, "a batch would be too large for a topic"
                self._take(step.row, step.parking)
        self.cursor = effect.cursor.moved(sent[-1].position, rows_taken(sent), 1)
        return self.cursor

    def request(self, pid: str, number: int, discard: int | None = None) -> None:
        self.requests[pid] = ReleaseRequest(pid, f"request-{number}", discard, "me", "", 0)

    def check(self, journal: Journal) -> None:
        """Everything behind the cursor is in exactly one place, and in order."""
        end = 0 if self.cursor is None else number_of(self.cursor.position)
        events = journal.events(end)
        waiting = [
            RowKey(pid, nr)
            for pid, entity in self.parked.items()
            for first, last in entity.waiting
            for nr in range(first, last + 1)
        ]
        found = Counter([*self.published, *waiting, *self.discarded])
        assert found == Counter(events)
        assert self.cursor is None or self.cursor.rows == len(events)
        assert {key for key in waiting if key not in journal.untagged} <= set(self.letters)
        self._check_order(journal, events)

    def _check_order(self, journal: Journal, events: list[RowKey]) -> None:
        heads: dict[str, int] = {}
        for pid, nr in self.published:
            assert nr > heads.get(pid, 0)
            heads[pid] = nr
        assert all(entity.first > heads.get(pid, 0) for pid, entity in self.parked.items())
        harmless = [key for key in events if key.persistence_id not in journal.ever_poison]
        passed = [key for key in self.published if key.persistence_id not in journal.ever_poison]
        assert passed == harmless, "somebody else's order has changed"

    def _take(self, row: EncodedRow[int], change: ParkingChange | None) -> None:
        key = RowKey(row.persistence_id, row.sequence_nr)
        if change is None:
            self.published.append(key)
            return
        if not change.released:
            self.letters += [key] if row.records else []
        elif key.sequence_nr > 0:
            self.published.append(key)
        if change.discarded is not None:
            self.discarded.append(RowKey(change.persistence_id, change.discarded[0]))
        if change.answered is not None:
            self.answers += 1
            self.refused += change.after is not None
            self.requests.pop(change.persistence_id, None)
        if change.after is None:
            self.parked.pop(change.persistence_id, None)
        else:
            self.parked[change.persistence_id] = change.after


class Marker:
    """Rows keep their records: what they become is told by the change."""

    def mark_late(self, row: EncodedRow[int]) -> EncodedRow[int]:
        raise AssertionError(f"{row}: nothing is out of order in this world")

    def park(self, row: EncodedRow[int], change: ParkingChange) -> EncodedRow[int]:
        assert change.after is not None
        assert change.after.holds(row.sequence_nr)
        records = (_SMALLEST_BATCH,) if row.records or row.problem else ()
        return row._replace(records=records, problem=None)

    def release(self, row: EncodedRow[int] | None, change: ParkingChange) -> EncodedRow[int]:
        nobody: EncodedRow[int] = EncodedRow(change.persistence_id, 0, (0,), (), 1, (), None)
        return nobody if row is None else row

    def topics(self) -> list[TopicIdentity]:
        return []


def number_of(position: Position) -> int:
    """The number that a position stands behind."""
    assert isinstance(position, SequencePosition)
    return position.after
