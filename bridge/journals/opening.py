"""Configuration of a journal → its adapter."""

from bridge.config import Config, Journal
from bridge.errors import ConfigError
from bridge.journals.base import Installer, PageLimits
from bridge.journals.base import Journal as JournalPort
from bridge.journals.postgres.installer import PostgresInstaller
from bridge.journals.postgres.journal import PostgresJournal
from bridge.journals.postgres.table import JournalTable

__all__ = ["open_installer", "open_journal", "postgres_table"]

_DEFAULT_SCHEMA = "public"


def postgres_table(journal: Journal) -> JournalTable:
    """What to read in PostgreSQL."""
    schema = journal.schema_name or _DEFAULT_SCHEMA
    return JournalTable(journal.layout, journal.install, schema, journal.table)


def open_journal(config: Config, name: str, limits: PageLimits) -> JournalPort:
    """The adapter of a configured journal, not yet connected."""
    journal = _supported(config, name)
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
    journal = _supported(config, name)
    return PostgresInstaller(config.app, name, journal.read_url(), postgres_table(journal))


def _supported(config: Config, name: str) -> Journal:
    journal = config.journals[name]
    if journal.database != "postgresql":
        raise ConfigError(f"journals.{name}.url: {journal.database} is not supported")
    return journal
