"""Comparing sorted streams: what is expected, what was found, and in which order. Pure.

Streams of tuples, since there may be hundreds of millions; their first three fields are the key
(topic, persistence id, sequence number).
"""

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from bridge.verify.source import RowState

__all__ = ["Expected", "Found", "Outcome", "inversions", "match"]


class Expected(NamedTuple):
    """A record that a journal row should have in a topic."""

    topic: int
    persistence_id: bytes
    sequence_nr: int
    state: int
    gone: int


class Found(NamedTuple):
    """A record that is in a topic.

    Attributes:
        stray: 1 when the partition is not the one that the key belongs to.
        late: 1 when the record is marked as breaking its entity's order.
    """

    topic: int
    persistence_id: bytes
    sequence_nr: int
    stray: int
    partition: int
    offset: int
    late: int


class Outcome(Enum):
    """What is to be said about an expectation or a record; nothing about a plain match."""

    MISSING = auto()
    NOT_PUBLISHED_YET = auto()
    BEFORE_START = auto()
    GONE = auto()
    DUPLICATED = auto()
    UNEXPLAINED = auto()


_ABSENT = {
    RowState.EXPECTED: Outcome.MISSING,
    RowState.PENDING: Outcome.NOT_PUBLISHED_YET,
    RowState.BEFORE_START: Outcome.BEFORE_START,
}


def match(
    expected: Iterable[Expected], found: Iterable[Found]
) -> Iterator[tuple[Outcome, Expected | Found]]:
    """Compare two streams, both sorted by key; `expected` holds each key once.

    A record of a row that need not be published yet is a plain match: the relay works on while
    the topics are read.
    """
    records = iter(found)
    record = next(records, None)
    for entry in expected:
        key = entry[:3]
        while record is not None and record[:3] < key:
            yield Outcome.UNEXPLAINED, record
            record = next(records, None)
        if record is None or record[:3] != key:
            yield _ABSENT[RowState(entry[3])], entry
            continue
        if entry[4]:
            yield Outcome.GONE, record
        record = next(records, None)
        while record is not None and record[:3] == key:
            yield Outcome.DUPLICATED, record
            record = next(records, None)
    while record is not None:
        yield Outcome.UNEXPLAINED, record
        record = next(records, None)


def inversions(found: Iterable[Found]) -> Iterator[tuple[Found, str]]:
    """Records that break the order of their entity, and how; those marked late are no surprise.

    Args:
        found: sorted by (topic, persistence id, stray, partition, offset).
    """
    entity: tuple[int, bytes] | None = None
    home = head = 0
    for record in found:
        if record[:2] != entity:
            entity, home, head = record[:2], record[4], 0
        if record[4] != home:
            yield record, f"the entity is in partition {home} as well"
        elif record[2] < head and not record[6]:
            yield record, f"behind number {head}"
        else:
            head = max(head, record[2])
