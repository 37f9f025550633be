"""The port that every journal adapter implements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bridge.core.cursor import Cursor, JournalIdentity
from bridge.core.effects import Attached
from bridge.core.positions import Position
from bridge.core.rows import JournalRow, Page
from bridge.journals.findings import Inspection

__all__ = ["RECENT_EVENTS", "Installer", "Journal", "PageLimits"]

RECENT_EVENTS = 20_000
"""Published events looked at when attaching, so that the inversion guard knows recent entities."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Upper bounds of one page; a single row may exceed `max_bytes`."""

    max_rows: int
    max_bytes: int


class Journal(Protocol):
    """One journal, read by one thread at a time.

    All methods raise :class:`~bridge.errors.UnavailableError` when trying again may help; then
    `attach` is called anew before anything else. Other errors need a human.
    """

    def attach(self, cursor: Cursor | None) -> Attached:
        """Connect, make sure that this is the journal `cursor` was written for, find the position.

        Without a cursor the position is the configured start, and a first witness is written.
        """

    def read(self, position: Position, *, settle: bool) -> Page:
        """Rows that became visible behind `position`, a page of them, in publishing order.

        Whatever the page holds is durable in the database: a crash cannot take it back. With
        `settle` this is so for the resulting position of an empty page, too.
        """

    def read_entity(
        self, persistence_id: str, first: int, last: int
    ) -> tuple[Sequence[JournalRow], bool]:
        """Events of one entity with numbers from `first` to `last`, in the order of their numbers.

        A page of them at most; and whether there may be more behind them. Places of these rows mean
        nothing. It is for events that `read` has delivered before: others may be among them.

        Raises:
            OperatorError: the first of them cannot be read; later ones end the page before them.
        """

    def renew_witness(self, committed: JournalIdentity) -> JournalIdentity:
        """Write a fresh witness, durably, beside the one that a committed cursor names."""

    def interrupt(self) -> None:
        """Make a call that another thread is in fail soon; for stopping in bounded time."""

    def close(self) -> None:
        """Release connections; the journal may be attached again."""


class Installer(Protocol):
    """Prepares a journal's database for the relay, looks it over, and cleans it up again."""

    def plan(self, relay_role: str | None) -> Sequence[str]:
        """The statements that `install` would execute now."""

    def install(self, relay_role: str | None) -> None:
        """Prepare the database; may run again at any time and while writers write.

        Args:
            relay_role: gets the rights that the relay needs, where the database has roles.
        """

    def removal_plan(self, relay_role: str | None, *, drop_events: bool) -> Sequence[str]:
        """The statements that `uninstall` would execute."""

    def uninstall(self, relay_role: str | None, *, drop_events: bool) -> None:
        """Remove all that `install` made; events of our own layout only if told so."""

    def inspect(self) -> Inspection:
        """What is wrong or risky about the journal."""

    def bypassed(self, limit: int) -> int:
        """Rows inserted since the installation that it did not see, counted up to `limit`."""
