"""A journal of somebody else on a real server: an owner, a writer and a relay role, ugly names."""

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.journals.postgres.foreign import ForeignJournal
from tests.services import PostgresServer


@pytest.fixture
def roles(postgres: PostgresServer) -> Iterator[tuple[str, str, str]]:
    """Names of three fresh unprivileged roles: owner, writer, relay."""
    suffix = uuid.uuid4().hex[:8]
    names = (f'Own"er {suffix}', f"Wri'ter {suffix}", f'Re"lay {suffix}')
    with psycopg.connect(postgres.url(), autocommit=True) as conn:
        for name in names:
            conn.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
    yield names
    with psycopg.connect(postgres.url(), autocommit=True) as conn:
        for name in names:
            conn.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def foreign(roles: tuple[str, str, str], database_url: str) -> Iterator[ForeignJournal]:
    """An empty actor-ts journal in a schema of its owner's."""
    journal = ForeignJournal(database_url, *roles)
    journal.create_schema()
    journal.create_table()
    yield journal
    journal.close()
