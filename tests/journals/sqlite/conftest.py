"""SQLite journals, installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journals.sqlite.subject import ACTOR_TS, BRIDGE, SqliteSubject


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[SqliteSubject]:
    """A journal of layout `bridge`."""
    subject = SqliteSubject(tmp_path / "ours.db", BRIDGE)
    subject.installer().install(None)
    yield subject
    subject.close()


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[SqliteSubject]:
    """An actor-ts journal, not installed yet."""
    subject = SqliteSubject(tmp_path / "foreign.db", ACTOR_TS)
    yield subject
    subject.close()
