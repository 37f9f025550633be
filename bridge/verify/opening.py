"""Configuration of a journal → its side of the comparison."""

from pathlib import Path

from sqlalchemy.engine import make_url

from bridge.config import Config
from bridge.core.cursor import Cursor
from bridge.journals.opening import postgres_table
from bridge.verify.source import VerifySource
from bridge.verify.sqlite import SqliteSource

__all__ = ["open_source"]


def open_source(config: Config, name: str, cursor: Cursor | None) -> VerifySource:
    """The journal's snapshot of this moment, judged by `cursor`."""
    journal = config.journals[name]
    url = journal.read_url()
    if journal.database == "postgresql":
        from bridge.verify.postgres import PostgresSource  # noqa: PLC0415 - an extra

        return PostgresSource(url, postgres_table(journal), cursor)
    file = Path(make_url(url).database or "")
    return SqliteSource(file, journal.layout, journal.table, cursor)
