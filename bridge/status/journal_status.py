"""How a journal's relay stands, measured against the journal and the brokers, not told by a relay.

The lag is counted in the journal: a relay that lives and moves nothing shows as what it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge.config import Config
from bridge.core.cursor import Cursor
from bridge.errors import BridgeError, OperatorError
from bridge.journals.health import Blocker, JournalHealth, Lag
from bridge.journals.opening import open_health, open_installer
from bridge.kafka.cursors import CommittedCursor
from bridge.kafka.from_config import kafka_topics, read_parked, topic_names
from bridge.kafka.topic_identity import require_same, require_untouched
from bridge.kafka.topics import KafkaTopics
from bridge.status.cursors import read_cursor
from bridge.status.parked import ParkedSummary, summary_of
from bridge.status.text import at_least

__all__ = [
    "BYPASSED_LIMIT",
    "JournalStatus",
    "bypassed_problem",
    "collect_status",
    "waiting_rows",
]

LAG_LIMIT = 100_000
"""Rows counted at most: a status must not take as long as the catching up itself."""

BYPASSED_LIMIT = 1_000


@dataclass(frozen=True)
class JournalStatus:
    """The state of one journal.

    Attributes:
        ordering: the strategy in use.
        cursor: where its relay stands; None when none has committed yet, or the cursor is lost.
        lag: committed rows that are not published; None when no position says which those are, or
            the journal cannot be asked.
        blockers: open transactions that hold back their own rows.
        identity_ok: whether the database is the cursor's; None when there is no cursor to compare.
        bypassed: rows that the installation did not see, counted up to `BYPASSED_LIMIT`.
        parked: what waits for its release; None when that cannot be told.
        problems: what a human must decide; the relay will not go on by itself.
        failure: why the journal's side could not be looked at completely.
    """

    journal: str
    database: str
    layout: str
    ordering: str
    cursor: CommittedCursor | None
    lag: Lag | None = None
    blockers: Sequence[Blocker] = ()
    identity_ok: bool | None = None
    bypassed: int | None = None
    parked: ParkedSummary | None = None
    problems: tuple[str, ...] = ()
    failure: BridgeError | None = None

    @property
    def exit_code(self) -> int:
        """0; 6 when a human must decide; else that of the failure."""
        if self.problems:
            return OperatorError.exit_code
        return self.failure.exit_code if self.failure else 0


def collect_status(config: Config, journal: str) -> JournalStatus:
    """Look at one journal, its cursor and its topics.

    Raises:
        BridgeError: the brokers cannot be asked.
    """
    return _Collector(config, journal).collect()


def waiting_rows(
    config: Config, journal: str, health: JournalHealth, cursor: Cursor | None
) -> Lag | None:
    """Committed rows that a relay has to publish; None before a start from now on."""
    if cursor is not None:
        return health.lag(cursor.position, LAG_LIMIT)
    wants_all = config.journals[journal].start == "beginning"
    return health.lag(None, LAG_LIMIT) if wants_all else None


def bypassed_problem(journal: str, rows: int) -> tuple[str, str]:
    """What to say of rows that the installation did not see, and what to do about them."""
    return (
        f"journal {journal}: {at_least(rows, rows >= BYPASSED_LIMIT)} rows were written past the "
        "installation and will not be relayed",
        "see whether a trigger is or was disabled; `bridge init` repairs it, the rows themselves "
        "have to be written again",
    )


class _Collector:
    def __init__(self, config: Config, journal: str) -> None:
        self._config = config
        self._journal = journal
        self._problems: list[str] = []

    def collect(self) -> JournalStatus:
        settings = self._config.journals[self._journal]
        topics = kafka_topics(self._config)
        found = self._cursor(topics)
        parked = self._parked(topics)
        seen = _JournalSide()
        failure = None
        health = open_health(self._config, self._journal)
        try:
            self._look(health, found.cursor if found else None, seen)
        except BridgeError as e:
            failure = e
        finally:
            health.close()
        return JournalStatus(
            journal=self._journal,
            database=settings.database,
            layout=settings.layout,
            ordering=settings.strategy,
            cursor=found,
            lag=seen.lag,
            blockers=seen.blockers,
            identity_ok=seen.identity_ok,
            bypassed=seen.bypassed,
            parked=parked,
            problems=tuple(self._problems),
            failure=failure,
        )

    def _cursor(self, topics: KafkaTopics) -> CommittedCursor | None:
        names = topic_names(self._config, self._journal)
        try:
            found = read_cursor(self._config, self._journal, topics)
            if found is None:
                require_untouched(topics, names, f"{self._config.app}--")
                return None
        except OperatorError as e:
            self._problems.append(e.what)
            return None
        self._problems += _changed_topics(found.cursor, topics)
        return found

    def _parked(self, topics: KafkaTopics) -> ParkedSummary | None:
        try:
            return summary_of(read_parked(self._config, self._journal, topics))
        except OperatorError as e:
            self._problems.append(e.what)
            return None

    def _look(self, health: JournalHealth, cursor: Cursor | None, seen: "_JournalSide") -> None:
        if cursor is not None:
            problem = health.identity_problem(cursor.identity)
            seen.identity_ok = problem is None
            self._problems += [problem] if problem else []
        if cursor is not None or not self._problems:
            seen.lag = waiting_rows(self._config, self._journal, health, cursor)
        seen.blockers = health.blockers()
        installer = open_installer(self._config, self._journal)
        seen.bypassed = installer.bypassed(BYPASSED_LIMIT)
        if seen.bypassed:
            self._problems.append(bypassed_problem(self._journal, seen.bypassed)[0])


@dataclass
class _JournalSide:
    """What was seen before anything failed."""

    lag: Lag | None = None
    blockers: Sequence[Blocker] = ()
    identity_ok: bool | None = None
    bypassed: int | None = None


def _changed_topics(cursor: Cursor, topics: KafkaTopics) -> Iterator[str]:
    facts = topics.facts([t.name for t in cursor.topics])
    for topic in cursor.topics:
        try:
            require_same(topic, facts.get(topic.name))
        except OperatorError as e:
            yield e.what
