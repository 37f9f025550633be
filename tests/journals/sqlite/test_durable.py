"""Rows are flushed before they are delivered, and nothing is flushed for nothing."""

import os
from pathlib import Path

import pytest

from bridge.errors import UnavailableError
from bridge.journals.base import PageLimits
from bridge.journals.sqlite.durable import flush_files
from bridge.journals.sqlite.journal import SqliteJournal
from tests.contracts.journal_subject import APP, NAME, Reading
from tests.journals.sqlite.subject import BRIDGE, SqliteSubject


class FlushCountingSubject(SqliteSubject):
    """Counts flushes, and fails them while told so."""

    flushes = 0
    broken = False

    def make_journal(self, limits: PageLimits, start: str) -> SqliteJournal:
        return SqliteJournal(
            app=APP,
            name=NAME,
            url=self.url,
            table=self.table,
            limits=limits,
            start=start,
            flush=self._flush,
        )

    def _flush(self, path: str) -> None:
        assert Path(path) == self.path
        if self.broken:
            raise OSError("no space left on device")
        self.flushes += 1


@pytest.fixture
def counting(tmp_path: Path) -> FlushCountingSubject:
    subject = FlushCountingSubject(tmp_path / "journal.db", BRIDGE)
    subject.installer().install(None)
    return subject


def test_each_page_with_rows_is_flushed_once(counting: FlushCountingSubject) -> None:
    counting.commit(("p", 1), ("p", 2), ("p", 3))
    reading = Reading(counting, PageLimits(max_rows=2, max_bytes=1_000))
    reading.poll()
    assert counting.flushes == 2
    for _ in range(3):
        reading.page(settle=True)
    assert counting.flushes == 2
    counting.close()


def test_the_start_at_now_is_flushed(counting: FlushCountingSubject) -> None:
    counting.commit(("p", 1))
    Reading(counting, start="now")
    assert counting.flushes == 1
    counting.close()


def test_what_cannot_be_flushed_is_not_delivered(counting: FlushCountingSubject) -> None:
    reading = Reading(counting)
    counting.commit(("p", 1))
    counting.broken = True
    with pytest.raises(UnavailableError, match="no space left"):
        reading.page()
    counting.broken = False
    reading.restart()
    assert len(reading.poll()) == 1
    counting.close()


def test_database_log_and_folder_are_flushed(
    ours: SqliteSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(os.readlink(f"/proc/self/fd/{fd}")))
    held = ours.connect()
    held.execute("INSERT INTO bridge_state VALUES ('x', 'x', 'x', 'x')")
    flush_files(str(ours.path))
    held.close()
    path = str(ours.path)
    assert flushed == [f"{path}-wal", path, str(ours.path.parent)]


def test_flushing_does_not_take_a_writers_lock_away(ours: SqliteSubject) -> None:
    holder = ours.connect()
    holder.execute("BEGIN IMMEDIATE")
    flush_files(str(ours.path))
    rival = ours.connect()
    with pytest.raises(Exception, match="locked"):
        rival.execute("BEGIN IMMEDIATE")
    rival.close()
    holder.close()
