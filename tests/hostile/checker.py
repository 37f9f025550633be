"""The judge: what was written against what was consumed. Pure.

Effect and cause are compared through the whole causal past, not only through the link an event
names: A caused B caused C must also hold in a partition that has A and C but not B.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from tests.hostile.events import Event, EventId, Record

__all__ = ["Findings", "check"]

_EXAMPLES = 5

Past = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong, one line per fault; everything empty means that the promise held.

    Attributes:
        missing: a written event that is not in the topic of one of its tags.
        duplicated: a second record of the same event in the same topic.
        inverted: a record behind a higher number of its entity, or in another partition than it.
        effect_before_cause: a record before one of its causal past in the same partition.
        unexpected: a record of no written event, or in a topic that the event has no tag for.
        malformed: a record whose key, value or headers differ from what was written.
    """

    missing: tuple[str, ...]
    duplicated: tuple[str, ...]
    inverted: tuple[str, ...]
    effect_before_cause: tuple[str, ...]
    unexpected: tuple[str, ...]
    malformed: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Number of faults of each kind, zero included."""
        return {field.name: len(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        lines = [f"{kind}: {count}" for kind, count in self.counts().items()]
        for field in fields(self):
            lines += [f"  {field.name}: {x}" for x in getattr(self, field.name)[:_EXAMPLES]]
        return "\n".join(lines)


def check(
    written: Sequence[Event], records: Iterable[Record], topic_of: Callable[[str], str]
) -> Findings:
    """Compare everything that was written with everything that was consumed.

    Args:
        written: all committed events, in any order.
        records: all records of all topics; offsets increase within a partition.
        topic_of: name of the topic for a tag.
    """
    judge = _Judge(written, topic_of)
    for record in records:
        judge.take(record)
    return judge.findings()


class _Judge:
    def __init__(self, written: Sequence[Event], topic_of: Callable[[str], str]) -> None:
        self._events = {event.id: event for event in written}
        if len(self._events) != len(written):
            raise ValueError("the ground truth holds an event twice")
        self._expected = {
            (topic_of(tag), event.id): event for event in written for tag in event.tags
        }
        self._seen: dict[tuple[str, EventId], Record] = {}
        self._heads: dict[tuple[str, str], tuple[int, int]] = {}
        self._partitions: dict[tuple[str, int], list[tuple[int, EventId]]] = defaultdict(list)
        self._faults: dict[str, list[str]] = defaultdict(list)

    def take(self, record: Record) -> None:
        event_id = _event_id(record)
        where = f"{event_id} at {record.topic}[{record.partition}]@{record.offset}"
        event = None if event_id is None else self._expected.get((record.topic, event_id))
        if event is None:
            self._faults["unexpected"].append(where)
            return
        self._faults["malformed"] += [f"{where}: {fault}" for fault in _malformed(event, record)]
        first = self._seen.setdefault((record.topic, event.id), record)
        if first is not record:
            self._faults["duplicated"].append(f"{where}, first at @{first.offset}")
            return
        self._order(event.id, record, where)
        self._partitions[record.topic, record.partition].append((record.offset, event.id))

    def _order(self, event_id: EventId, record: Record, where: str) -> None:
        """An entity lives in one partition of a topic, and its numbers only go up there."""
        entity = (record.topic, event_id.persistence_id)
        partition, head = self._heads.get(entity, (record.partition, 0))
        if record.partition != partition:
            self._faults["inverted"].append(f"{where}: the entity is in partition {partition} too")
        elif event_id.sequence_nr < head:
            self._faults["inverted"].append(f"{where}: behind number {head}")
        self._heads[entity] = (partition, max(head, event_id.sequence_nr))

    def findings(self) -> Findings:
        missing = [
            f"{event_id} in {topic}"
            for topic, event_id in self._expected
            if (topic, event_id) not in self._seen
        ]
        pasts = _causal_pasts(self._events)
        for (topic, partition), entries in self._partitions.items():
            for effect, cause in _effects_before_causes(entries, pasts):
                line = f"{effect} before {cause} in {topic}[{partition}]"
                self._faults["effect_before_cause"].append(line)
        self._faults["missing"] = missing
        return Findings(
            **{field.name: tuple(self._faults[field.name]) for field in fields(Findings)}
        )


def _event_id(record: Record) -> EventId | None:
    """The event that the value names; None when it names none."""
    try:
        persistence_id, sequence_nr = json.loads(record.value or b"")["id"]
    except (ValueError, KeyError, TypeError):
        return None
    return EventId(persistence_id, sequence_nr)


def _malformed(event: Event, record: Record) -> Iterable[str]:
    headers = dict(record.headers)
    if len(headers) != len(record.headers):
        yield "a header appears twice"
    if record.key != event.id.persistence_id.encode():
        yield f"key {record.key!r}"
    if record.value != event.payload:
        yield f"value {record.value!r}"
    if headers.get("ce_id") != str(event.id).encode():
        yield f"ce_id {headers.get('ce_id')!r}"
    if _tags(headers.get("ce_tags")) != list(event.tags):
        yield f"ce_tags {headers.get('ce_tags')!r}"
    if "bridge_late" in headers:
        yield "marked late, though no event of this run is"


def _tags(header: bytes | None) -> object:
    try:
        return json.loads(header or b"")
    except ValueError:
        return None


def _causal_pasts(events: Mapping[EventId, Event]) -> dict[EventId, Past]:
    """For each event the highest number of every other entity that it depends on.

    An event depends on its cause, on its entity's earlier events, and on what those depend on.
    """
    pasts: dict[EventId, Past] = {}
    for start in events:
        stack = [start]
        while stack:
            event_id = stack[-1]
            parents = [p for p in _parents(events[event_id]) if p in events]
            unknown = [p for p in parents if p not in pasts]
            if unknown:
                stack += unknown
                continue
            pasts[event_id] = _merged(parents, pasts)
            stack.pop()
    return pasts


def _parents(event: Event) -> list[EventId]:
    earlier = EventId(event.id.persistence_id, event.id.sequence_nr - 1)
    return [earlier] if event.cause is None else [earlier, event.cause]


def _merged(parents: Sequence[EventId], pasts: Mapping[EventId, Past]) -> Past:
    past: dict[str, int] = {}
    for parent in parents:
        for entity, number in [*pasts[parent].items(), parent]:
            past[entity] = max(past.get(entity, 0), number)
    return past


def _effects_before_causes(
    entries: Sequence[tuple[int, EventId]], pasts: Mapping[EventId, Past]
) -> Iterable[tuple[EventId, EventId]]:
    """Walk the partition backwards: is a later record in the past of this one?

    An entity's own earlier events are left to the inversion check.
    """
    lowest_later: dict[str, int] = {}
    for _, event_id in sorted(entries, reverse=True):
        own = event_id.persistence_id
        for entity, number in pasts[event_id].items():
            later = lowest_later.get(entity)
            if later is not None and later <= number and entity != own:
                yield event_id, EventId(entity, later)
        lowest_later[own] = min(lowest_later.get(own, event_id.sequence_nr), event_id.sequence_nr)
