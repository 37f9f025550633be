"""What the journal suite needs to know of a backend, and how it reads."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Protocol

from bridge.core.cursor import Cursor
from bridge.core.positions import Position
from bridge.core.rows import JournalRow, Page
from bridge.envelope.cursor_codec import decode_cursor, encode_cursor
from bridge.journals.base import Journal, PageLimits

__all__ = ["APP", "NAME", "WIDE", "JournalSubject", "Reading", "Writing", "keys"]

APP, NAME = "contract", "orders"
WIDE = PageLimits(max_rows=1000, max_bytes=8_388_608)

Key = tuple[str, int]


class Writing(Protocol):
    """A writer's open transaction."""

    def append(
        self,
        pid: str,
        nr: int,
        *,
        payload: bytes | None = b"{}",
        tags: Sequence[str] = ("a",),
        timestamp_ms: int = 1_000,
    ) -> None:
        """Insert an event."""

    def savepoint(self) -> None:
        """Set the savepoint."""

    def rollback_to_savepoint(self) -> None:
        """Undo what was inserted since."""

    def commit(self) -> None:
        """End, with rows."""

    def rollback(self) -> None:
        """End, without rows."""


class JournalSubject(ABC):
    """A backend with an empty journal.

    Attributes:
        concurrent: several writing transactions can be open at a time.
        comma_tags: a tag may hold a comma.
        null_payload: an event may have no payload.
    """

    concurrent: ClassVar[bool] = True
    comma_tags: ClassVar[bool] = True
    null_payload: ClassVar[bool] = True

    def __init__(self) -> None:
        self._adapters: list[Journal] = []

    def journal(self, limits: PageLimits = WIDE, start: str = "beginning") -> Journal:
        """A new adapter, not attached."""
        self._adapters.append(self.make_journal(limits, start))
        return self._adapters[-1]

    def close(self) -> None:
        """Close all adapters that were given out."""
        for adapter in self._adapters:
            adapter.close()

    @abstractmethod
    def make_journal(self, limits: PageLimits, start: str) -> Journal:
        """Make an adapter."""

    @abstractmethod
    def begin(self) -> Writing:
        """A new transaction."""

    @abstractmethod
    def save_copy(self) -> None:
        """Take a backup."""

    @abstractmethod
    def restore_copy(self) -> None:
        """Put the backup back in place."""

    def commit(self, *events: Key, timestamp_ms: int = 1_000) -> None:
        """Append events in a transaction of their own."""
        writing = self.begin()
        for pid, nr in events:
            writing.append(pid, nr, timestamp_ms=timestamp_ms)
        writing.commit()


class Reading:
    """A reader that keeps its position as a relay does: as the bytes of a cursor."""

    def __init__(
        self, subject: JournalSubject, limits: PageLimits = WIDE, start: str = "beginning"
    ) -> None:
        self._subject = subject
        self._limits = limits
        self._start = start
        self.journal = subject.journal(limits, start)
        attached = self.journal.attach(None)
        self.recent = list(attached.recent)
        self._saved = encode_cursor(
            Cursor(
                app=APP,
                journal=NAME,
                shard=0,
                shards=1,
                owner="me",
                identity=attached.identity,
                origin=attached.position,
                position=attached.position,
                topics=(),
                rows=0,
                committed_at_ms=0,
            )
        )

    @property
    def cursor(self) -> Cursor:
        """As it would be read back."""
        return decode_cursor(self._saved)

    def keep(self, position: Position) -> None:
        """Persist a position."""
        self._saved = encode_cursor(self.cursor.moved(position, 0, 0))

    def renew_witness(self) -> None:
        """As the relay does it from time to time."""
        cursor = self.cursor
        identity = self.journal.renew_witness(cursor.identity)
        fields = {name: getattr(cursor, name) for name in Cursor.__slots__}
        self._saved = encode_cursor(Cursor(**{**fields, "identity": identity}))

    def twin(self) -> "Reading":
        """Another reader with the same cursor, to be restarted first."""
        other = copy(self)
        other.journal = self._subject.journal(self._limits, self._start)
        return other

    def restart(self) -> None:
        """A new process: a new adapter, and only what was persisted."""
        self.journal.close()
        self.journal = self._subject.journal(self._limits, self._start)
        self.recent = list(self.journal.attach(self.cursor).recent)

    def page(self, *, settle: bool = False) -> Page:
        """Read one page and persist the position behind it."""
        page = self.journal.read(self.cursor.position, settle=settle)
        self.keep(page.end)
        return page

    def poll(self) -> list[JournalRow]:
        """Read until there is nothing more."""
        rows: list[JournalRow] = []
        for _ in range(1_000):
            page = self.page()
            rows += page.rows
            if page.drained:
                return rows
        raise AssertionError("it was never drained")


def keys(rows: Sequence[JournalRow]) -> list[Key]:
    """Which events they are."""
    return [(row.persistence_id, row.sequence_nr) for row in rows]
