"""The comparison of one journal with its topics, from cursor to report.

It may run beside relay and writers, which go on meanwhile. What it looks at, in this order, makes
that sound:

1. The cursor. All that it says is published was committed before this moment.
   Beside it, which events are parked or were discarded: one that is released later is then in its
   topic below the ends that come next.
2. The ends of the topics, open transactions included. Those records lie below them; they are read
   up to the ends, waiting for transactions that have not ended there. So a row that the cursor
   calls published and that has no record is missing, without a doubt.
3. One snapshot of the journal. Whatever is in the topics was visible in the journal before it was
   published, so a record without a row is a fault (or its row was deleted by its owner). Rows that
   came, or were published, since step 1 are behind the cursor: they may have records or not.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from bridge.config import Config
from bridge.core.cursor import Cursor
from bridge.core.murmur2 import partition_of
from bridge.envelope.naming import TopicNames
from bridge.envelope.parked_codec import ParkedLedger
from bridge.kafka.brokers import Brokers, brokers_of
from bridge.kafka.from_config import cursor_store, read_parked, topic_names
from bridge.kafka.topics import KafkaTopics, cursor_topic_name
from bridge.verify.compare import Expected, Found, Outcome, inversions, match
from bridge.verify.opening import open_source
from bridge.verify.report import Example, Kind, Report
from bridge.verify.source import VerifySource
from bridge.verify.spill import Spill
from bridge.verify.topics import TopicRecord, read_records, read_spans

__all__ = ["verify"]

_KEYS_CACHED = 50_000

_APPEAR_S = 5.0
"""How long a topic that the cursor names may be unknown to a broker."""

_PAUSE_S = 0.05

_KINDS = {
    Outcome.MISSING: Kind.MISSING,
    Outcome.NOT_PUBLISHED_YET: Kind.NOT_PUBLISHED_YET,
    Outcome.BEFORE_START: Kind.BEFORE_START,
    Outcome.GONE: Kind.COMPACTED,
    Outcome.DUPLICATED: Kind.DUPLICATED,
}


def verify(config: Config, journal: str, brokers: Brokers | None = None) -> Report:
    """Compare a journal with its topics by (persistence id, sequence number).

    Args:
        brokers: in place of the configured ones.

    Raises:
        BridgeError: database or brokers cannot be read.
    """
    brokers = brokers or brokers_of(config)
    topics = brokers.topics
    cursor = _cursor(config, journal, brokers)
    names = topic_names(config, journal)
    parked = read_parked(config, journal, topics, brokers.settings)
    partitions = _tag_topics(topics, names, f"{config.app}--", cursor)
    spans = read_spans(brokers.settings, partitions)
    with Spill() as spill:
        audit = _Audit(Report(journal), spill, partitions, parked)
        spill.add_found(audit.found(read_records(brokers.settings, spans)))
        source = open_source(config, journal, cursor)
        try:
            audit.judge(source, names)
        finally:
            source.close()
        return audit.report


def _cursor(config: Config, journal: str, brokers: Brokers) -> Cursor | None:
    exists = brokers.topics.facts([cursor_topic_name(config.app, journal)])
    return cursor_store(config, journal, brokers.settings).latest() if exists else None


def _tag_topics(
    topics: KafkaTopics, names: TopicNames, internal: str, cursor: Cursor | None
) -> Mapping[str, int]:
    """Number of partitions of every topic that holds, or could hold, the journal's events."""
    used = {t.name for t in cursor.topics} if cursor else set()
    deadline = time.monotonic() + _APPEAR_S
    while True:
        existing = topics.existing()
        if used.issubset(existing) or time.monotonic() > deadline:
            break
        time.sleep(_PAUSE_S)  # a new topic is not known to every broker at once
    found = topics.facts(
        name for name in existing if names.may_be_tag_topic(name) and not name.startswith(internal)
    )
    return {name: found[name].partitions for name in sorted(found)}


class _Audit:
    """Fills the report. Topics are numbers here: names would be stored with every record."""

    def __init__(
        self, report: Report, spill: Spill, partitions: Mapping[str, int], parked: ParkedLedger
    ) -> None:
        self.report = report
        self._spill = spill
        self._partitions = partitions
        self._parked = parked
        self._names = list(partitions)
        self._numbers = {name: i for i, name in enumerate(self._names)}
        self._home: Callable[[bytes, int], int] = lru_cache(_KEYS_CACHED)(partition_of)

    def found(self, records: Iterable[TopicRecord]) -> Iterator[Found]:
        """Records as they are compared; those that are not ours are reported at once."""
        for record in records:
            self.report.records += 1
            key, number = record.key, record.sequence_nr
            if key is None or number is None:
                self.report.add(Kind.UNEXPECTED, _foreign(record))
                continue
            stray = self._home(key, self._partitions[record.topic]) != record.partition
            topic = self._numbers[record.topic]
            found = Found(
                topic, key, number, int(stray), record.partition, record.offset, int(record.late)
            )
            if record.late:
                self._add(Kind.LATE, found)
            yield found

    def judge(self, source: VerifySource, names: TopicNames) -> None:
        """Compare all that was found with the journal."""
        self._spill.add_expected(self._expected(source, names))
        for outcome, entry in match(self._spill.expected(), self._spill.found()):
            if outcome is Outcome.UNEXPLAINED and isinstance(entry, Found):
                self._spill.add_unexplained(entry)
                continue
            self._add(self._excuse(outcome, entry) or _KINDS[outcome], entry)
            if outcome is Outcome.DUPLICATED and isinstance(entry, Found):
                self._spill.set_aside(entry)
        if self._spill.has_unexplained:
            self._spill.add_kept(source.kept_from())
            self._judge_unexplained()
        for record, how in inversions(self._spill.in_order()):
            self._add(Kind.INVERTED, record, how)

    def _excuse(self, outcome: Outcome, entry: Expected | Found) -> Kind | None:
        """Why the records of an event are not in its topics, if an operator knows of it."""
        if outcome not in (Outcome.MISSING, Outcome.NOT_PUBLISHED_YET):
            return None
        pid = entry.persistence_id.decode("utf-8", "surrogatepass")
        entity = self._parked.entities.get(pid)
        if entity is not None and entity.holds(entry.sequence_nr):
            return Kind.PARKED
        known = (pid, entry.sequence_nr) in self._parked.discarded
        return Kind.DISCARDED if known else None

    def _expected(self, source: VerifySource, names: TopicNames) -> Iterator[Expected]:
        for pid, seq, tags, state, gone in source.rows():
            self.report.rows += not gone
            for name in names.of_tags(tags):
                number = self._numbers.get(name)
                if number is None:
                    number = self._numbers[name] = len(self._names)
                    self._names.append(name)
                yield Expected(number, pid, seq, state, int(gone))

    def _judge_unexplained(self) -> None:
        before = None
        for record, compacted in self._spill.unexplained():
            if not compacted:
                self._add(Kind.UNEXPECTED, record, "the journal holds no such event for this topic")
            elif record[:3] == before:
                self._add(Kind.DUPLICATED, record)
            else:
                self._add(Kind.COMPACTED, record)
                before = record[:3]
                continue
            self._spill.set_aside(record)

    def _add(self, kind: Kind, entry: Expected | Found, detail: str | None = None) -> None:
        record = entry if isinstance(entry, Found) else None
        example = Example(
            topic=self._names[entry.topic],
            partition=record and record.partition,
            offset=record and record.offset,
            persistence_id=entry.persistence_id.decode("utf-8", "backslashreplace"),
            sequence_nr=entry.sequence_nr,
            detail=detail,
        )
        self.report.add(kind, example)


def _foreign(record: TopicRecord) -> Example:
    key = None if record.key is None else record.key.decode("utf-8", "backslashreplace")
    return Example(record.topic, record.partition, record.offset, key, None, record.problem)
