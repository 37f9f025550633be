"""The same tests on every database that the writer supports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.writer.journal import WriterJournal, postgres_journal, sqlite_journal


@pytest.fixture
def pg_journal(database_url: str) -> Iterator[WriterJournal]:
    """A journal on PostgreSQL."""
    with postgres_journal(database_url) as journal:
        yield journal


@pytest.fixture
def lite_journal(tmp_path: Path) -> Iterator[WriterJournal]:
    """A journal on SQLite."""
    with sqlite_journal(str(tmp_path / "journal.db")) as journal:
        yield journal


@pytest.fixture(params=["pg_journal", "lite_journal"])
def journal(request: pytest.FixtureRequest) -> WriterJournal:
    """A journal on each supported database in turn."""
    found: WriterJournal = request.getfixturevalue(request.param)
    return found
