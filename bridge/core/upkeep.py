"""What the journal lane does beside reading pages, and when: topics, witness, pauses."""

from bridge.core.backoff import Backoff
from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.effects import CheckTopics, RenewWitness
from bridge.core.relay_settings import RelaySettings
from bridge.errors import OperatorError

__all__ = ["Upkeep"]

_IDLE_POLL_FIRST_MS = 1.0
"""Pause after the first empty poll: rows that trickle in are found at once."""


class Upkeep:
    """Timers of one machine.

    Attributes:
        poll_at_ms: when the journal is looked at next.
    """

    def __init__(self, settings: RelaySettings, now_ms: float) -> None:
        self._settings = settings
        self._topics_at_ms = self._witness_at_ms = self.poll_at_ms = now_ms
        self._witness_used = False
        self._empty_polls = 0
        self._compared: Cursor | None = None
        self._matched: Cursor | None = None

    def due(
        self, now_ms: float, generation: int, cursor: Cursor, topics: tuple[TopicIdentity, ...]
    ) -> CheckTopics | RenewWitness | None:
        """What has to be done before the next page is read."""
        if now_ms >= self._topics_at_ms:
            return CheckTopics(generation, topics, fresh=False)
        if self._witness_used and now_ms >= self._witness_at_ms:
            return RenewWitness(generation, cursor.identity)
        return None

    def attached(self, now_ms: float) -> None:
        """The journal is attached: poll at once; its witness is named by no cursor yet."""
        self._witness_used = False
        self.poll_at_ms = now_ms
        self._witness_at_ms = now_ms + self._settings.witness_period_ms

    def comparing(self, cursor: Cursor | None) -> None:
        """Topics are being compared; a topic may vanish while it is asked for."""
        self._compared = cursor

    def topics_match(self, now_ms: float) -> None:
        """All topics are what they were when the comparison began."""
        self._topics_at_ms = now_ms + self._settings.topics_period_ms
        self._matched = self._compared

    def witness_renewed(self, now_ms: float) -> None:
        """A fresh witness is in the database; no cursor names it yet."""
        self._witness_at_ms = now_ms + self._settings.witness_period_ms
        self._witness_used = False

    def committed(self, rows: int, named: JournalIdentity, current: JournalIdentity) -> None:
        """Rows were committed with a cursor that names the witness of `named`."""
        self._witness_used = self._witness_used or (rows > 0 and named == current)

    def rows_read(self) -> None:
        """The journal had rows: the next page may follow at once."""
        self._empty_polls = 0

    def nothing_read(self, now_ms: float) -> None:
        """The journal had nothing new: pauses grow up to the poll interval."""
        self._empty_polls += 1
        pause = Backoff(_IDLE_POLL_FIRST_MS, self._settings.poll_interval_ms)
        self.poll_at_ms = now_ms + pause.delay_ms(self._empty_polls)

    def with_doubtful_range(self, error: OperatorError, cursor: Cursor | None) -> OperatorError:
        """What was published since the topics last matched: a deleted topic takes it in silence."""
        matched = self._matched
        if cursor is None or matched is None:
            return error
        rows = cursor.rows - matched.rows
        return OperatorError(
            f"{error.what}; {rows} rows were published since all topics last matched, from "
            f"position {matched.position} to {cursor.position}",
            error.hint,
        )
