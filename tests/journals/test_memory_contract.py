"""The journal suite on the journal in memory."""

from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from bridge.journals.base import PageLimits
from bridge.journals.memory import MemoryJournal
from bridge.journals.memory_database import MemoryDatabase, MemoryTransaction
from tests.contracts.journal import JournalContract
from tests.contracts.journal_subject import APP, NAME, JournalSubject


class MemoryWriting:
    def __init__(self, transaction: MemoryTransaction) -> None:
        self._transaction = transaction
        self._mark = 0

    def append(
        self,
        pid: str,
        nr: int,
        *,
        payload: bytes | None = b"{}",
        tags: Sequence[str] = ("a",),
        timestamp_ms: int = 1_000,
    ) -> None:
        self._transaction.append(
            pid, nr, payload=payload, tags=tuple(tags), timestamp_ms=timestamp_ms
        )

    def savepoint(self) -> None:
        self._mark = self._transaction.savepoint()

    def rollback_to_savepoint(self) -> None:
        self._transaction.rollback_to(self._mark)

    def commit(self) -> None:
        self._transaction.commit()

    def rollback(self) -> None:
        self._transaction.rollback()


class MemorySubject(JournalSubject):
    def __init__(self) -> None:
        super().__init__()
        self._database = MemoryDatabase()
        self._copy = ExitStack()

    def make_journal(self, limits: PageLimits, start: str) -> MemoryJournal:
        return MemoryJournal(
            app=APP, name=NAME, database=self._database, limits=limits, start=start
        )

    def begin(self) -> MemoryWriting:
        return MemoryWriting(self._database.begin())

    def save_copy(self) -> None:
        self._copy.enter_context(self._database.restored_later())

    def restore_copy(self) -> None:
        self._copy.close()


class TestMemory(JournalContract):
    @pytest.fixture
    def subject(self) -> MemorySubject:
        return MemorySubject()
