"""The checks that ask the servers. They write nothing and create nothing."""

from collections.abc import Iterator
from contextlib import closing

from bridge.config import Config
from bridge.core.cursor import Cursor
from bridge.errors import OperatorError
from bridge.journals.health import JournalHealth
from bridge.journals.opening import open_health, open_installer
from bridge.kafka.cursors import CommittedCursor
from bridge.kafka.from_config import SHARDS, kafka_topics, topic_names
from bridge.kafka.topic_identity import require_untouched
from bridge.kafka.topics import (
    KafkaTopics,
    cursor_topic_name,
    dead_letter_topic_name,
    parked_topic_name,
)
from bridge.status import broker_checks
from bridge.status.checked import Checked, checked_finding, guarded, trouble
from bridge.status.configuration_checks import colliding
from bridge.status.cursors import read_cursor
from bridge.status.journal_status import BYPASSED_LIMIT, bypassed_problem, waiting_rows
from bridge.status.topic_checks import (
    check_compacted_topic,
    check_dead_letter_topic,
    check_known_topics,
    check_tag_topic,
)

__all__ = ["check_servers"]

TAG_ROWS = 100_000
"""Rows whose tags are looked at: all of a large journal's would take too long."""

_UNTESTED = (
    "the rights to create topics and to write to them cannot be tested without doing it: "
    "the relay says at once when one is missing"
)


def check_servers(config: Config, journals: list[str], now_ms: int) -> Iterator[Checked]:
    """Brokers, then each journal's database, then its topics.

    Args:
        now_ms: the clock that event times are compared with.
    """
    topics = kafka_topics(config)
    brokers = list(guarded(broker_checks.ABOUT, broker_checks.check_brokers(topics)))
    yield from brokers
    reachable = not any(check.unreachable for check in brokers)
    if reachable:
        yield Checked("note", broker_checks.ABOUT, _UNTESTED)
    for name in journals:
        about = f"journal {name}"
        database = list(guarded(about, _check_database(config, name)))
        yield from database
        if reachable and not any(check.level == "error" for check in database):
            yield from guarded(about, _JournalTopics(config, name, topics, now_ms).check())


def _check_database(config: Config, name: str) -> Iterator[Checked]:
    about = f"journal {name}"
    installer = open_installer(config, name)
    inspection = installer.inspect()
    yield from (checked_finding(about, finding) for finding in inspection.findings)
    if inspection.errors:
        return
    yield Checked("ok", about, "the database is reachable and prepared")
    bypassed = installer.bypassed(BYPASSED_LIMIT)
    if bypassed:
        what, hint = bypassed_problem(name, bypassed)
        yield Checked("error", about, what, hint)


class _JournalTopics:
    """The cursor and the topics of one journal, against its database."""

    def __init__(self, config: Config, name: str, topics: KafkaTopics, now_ms: int) -> None:
        self._config = config
        self._name = name
        self._about = f"journal {name}"
        self._topics = topics
        self._names = topic_names(config, name)
        self._now_ms = now_ms

    def check(self) -> Iterator[Checked]:
        with closing(open_health(self._config, self._name)) as health:
            yield from self._check_internal_topics()
            try:
                record = read_cursor(self._config, self._name, self._topics)
                if record is None:
                    require_untouched(self._topics, self._names, f"{self._config.app}--")
            except OperatorError as e:
                yield trouble(self._about, e)
                return
            yield from self._check_cursor(record, health)
            yield from self._check_tag_topics(record.cursor if record else None, health)

    def _check_internal_topics(self) -> Iterator[Checked]:
        app, name = self._config.app, self._name
        compacted = {
            cursor_topic_name(app, name): "cursor",
            parked_topic_name(app, name): "parked entity",
        }
        dead_letters = dead_letter_topic_name(app, name)
        found = self._topics.facts_and_settings([*compacted, dead_letters])
        for topic, kind in compacted.items():
            if topic in found:
                yield from check_compacted_topic(self._about, kind, *found[topic], SHARDS)
        if dead_letters in found:
            yield from check_dead_letter_topic(self._about, *found[dead_letters])

    def _check_cursor(
        self, record: CommittedCursor | None, health: JournalHealth
    ) -> Iterator[Checked]:
        if record is None:
            start = self._config.journals[self._name].start
            yield Checked("ok", self._about, f"no cursor: the relay will begin at: {start}")
            return
        problem = health.identity_problem(record.cursor.identity)
        if problem is None:
            yield Checked("ok", self._about, "the database is the one that the cursor names")
        else:
            hint = "compare the journal with its topics (`bridge verify`) before going on"
            yield Checked("error", self._about, problem, hint)

    def _check_tag_topics(self, cursor: Cursor | None, health: JournalHealth) -> Iterator[Checked]:
        stored = cursor.topics if cursor else ()
        known = {topic.name for topic in stored}
        limit = self._config.topics.max_topics
        tags = health.tags(TAG_ROWS, 10 * limit)
        wanted = known | set(self._names.of_tags(tuple(tags)))
        internal = {name for name in known if name.startswith(f"{self._config.app}--")}
        yield from self._check_names(wanted - internal, limit)
        found = self._topics.facts_and_settings(sorted(wanted))
        facts = {name: facts for name, (facts, _) in found.items()}
        yield from check_known_topics(self._about, stored, facts)
        waiting = waiting_rows(self._config, self._name, health, cursor)
        for topic, settings in (found[name] for name in sorted(found.keys() - internal)):
            yield from check_tag_topic(self._about, topic, settings, waiting, self._now_ms)

    def _check_names(self, wanted: set[str], limit: int) -> Iterator[Checked]:
        for one, other in colliding([*wanted, *self._topics.existing()]):
            if wanted & {one, other}:
                what = f"topics {one} and {other} differ only in '.' and '_': brokers refuse that"
                hint = "give one of the tags another topic name under topics.map"
                yield Checked("error", self._about, what, hint)
        if len(wanted) > limit:
            what = f"its tags need {len(wanted)} topics, topics.max_topics is {limit}"
            hint = "raise topics.max_topics, or choose tags by topics.include and topics.exclude"
            yield Checked("error", self._about, what, hint)
