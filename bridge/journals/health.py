"""The port for looking at a journal from outside the relay: it reads, and never writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bridge.core.cursor import JournalIdentity
from bridge.core.positions import Position

__all__ = ["Blocker", "JournalHealth", "Lag"]


@dataclass(frozen=True, slots=True)
class Lag:
    """Committed rows behind a position.

    Attributes:
        rows: how many, counted up to a limit.
        at_least: the limit was reached: there may be more.
        oldest_ms, newest_ms: least and greatest event time of the counted rows, milliseconds since
            1970; None when there are none.
    """

    rows: int
    at_least: bool
    oldest_ms: int | None
    newest_ms: int | None


@dataclass(frozen=True, slots=True)
class Blocker:
    """An open transaction that has written to the journal: it holds back its own rows, no others.

    Attributes:
        transaction: its number.
        pid: process of its session; None for a prepared transaction.
        prepared: name of a prepared transaction.
        application, user: whose it is.
        state: what the session does, e.g. ``idle in transaction``; None where it may not be seen.
        age_s: seconds since the transaction began; None where it may not be seen.
    """

    transaction: int
    pid: int | None
    prepared: str | None
    application: str | None
    user: str | None
    state: str | None
    age_s: float | None


class JournalHealth(Protocol):
    """One journal as it is now, asked by queries of its own, not by those of the relay.

    All methods raise errors of :mod:`bridge.errors`; the first call connects.
    """

    def identity_problem(self, named: JournalIdentity) -> str | None:
        """Why this is not the database that a cursor names; None if it is."""

    def lag(self, position: Position | None, limit: int) -> Lag:
        """Committed rows behind `position`, at most `limit`; None means the journal's beginning."""

    def blockers(self) -> Sequence[Blocker]:
        """Open transactions with rows that nobody can see yet, the oldest first."""

    def tags(self, row_limit: int, tag_limit: int) -> Sequence[str]:
        """Distinct tags of some of the rows, the newest among them.

        Args:
            row_limit: how many rows are looked at, at most.
            tag_limit: how many tags are returned, at most.
        """

    def close(self) -> None:
        """Release the connection."""
