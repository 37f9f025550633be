"""Configuration of a journal → its adapter. A database's driver is loaded only when it is used."""

from typing import TYPE_CHECKING

from bridge.config import Config, Journal
from bridge.journals.base import Installer, PageLimits
from bridge.journals.base import Journal as JournalPort
from bridge.journals.health import JournalHealth
from bridge.journals.sqlite.health import SqliteHealth
from bridge.journals.sqlite.installer import SqliteInstaller
from bridge.journals.sqlite.journal import SqliteJournal
from bridge.journals.sqlite.table import SqliteTable

if TYPE_CHECKING:
    from bridge.journals.postgres.table import JournalTable

__all__ = ["open_health", "open_installer", "open_journal", "postgres_table", "sqlite_table"]

_DEFAULT_SCHEMA = "public"


def postgres_table(journal: Journal) -> "JournalTable":
    """What to read in PostgreSQL."""
    from bridge.journals.postgres.table import JournalTable  # noqa: PLC0415 - an extra

    schema = journal.schema_name or _DEFAULT_SCHEMA
    return JournalTable(journal.layout, journal.install, schema, journal.table)


def sqlite_table(journal: Journal) -> SqliteTable:
    """What to read in an SQLite file."""
    return SqliteTable(journal.layout, journal.install, journal.table)


def open_journal(config: Config, name: str, limits: PageLimits) -> JournalPort:
    """The adapter of a configured journal, not yet connected."""
    journal = config.journals[name]
    if journal.database == "sqlite":
        return SqliteJournal(
            app=config.app,
            name=name,
            url=journal.read_url(),
            table=sqlite_table(journal),
            limits=limits,
            start=journal.start,
        )
    from bridge.journals.postgres.journal import PostgresJournal  # noqa: PLC0415 - an extra

    return PostgresJournal(
        app=config.app,
        name=name,
        url=journal.read_url(),
        table=postgres_table(journal),
        limits=limits,
        start=journal.start,
        standbys=journal.standbys,
    )


def open_installer(config: Config, name: str) -> Installer:
    """The installer of a configured journal."""
    journal = config.journals[name]
    if journal.database == "sqlite":
        return SqliteInstaller(config.app, name, journal.read_url(), sqlite_table(journal))
    from bridge.journals.postgres.installer import PostgresInstaller  # noqa: PLC0415 - an extra

    return PostgresInstaller(config.app, name, journal.read_url(), postgres_table(journal))


def open_health(config: Config, name: str) -> JournalHealth:
    """The view on a configured journal from outside the relay, not yet connected."""
    journal = config.journals[name]
    if journal.database == "sqlite":
        return SqliteHealth(config.app, name, journal.read_url(), sqlite_table(journal))
    from bridge.journals.postgres.health import PostgresHealth  # noqa: PLC0415 - an extra

    return PostgresHealth(config.app, name, journal.read_url(), postgres_table(journal))
