"""The stores by the common contract."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from bridge.readmodels.memory import MemoryStore
from bridge.readmodels.sql import SqlStore
from tests.contracts.offset_store import OffsetStoreContract, ReadModelSubject, Store

_TABLE = "CREATE TABLE numbers (name text PRIMARY KEY, number integer NOT NULL)"
_PUT = (
    "INSERT INTO numbers (name, number) VALUES (:name, :number) "
    "ON CONFLICT (name) DO UPDATE SET number = excluded.number"
)


class SqlSubject(ReadModelSubject):
    def __init__(self, url: str) -> None:
        self._url = url
        asyncio.run(self._query(_TABLE))

    def store(self) -> Store:
        return SqlStore(self._url)

    async def put(self, tx: AsyncConnection, name: str, number: int) -> None:
        await tx.execute(text(_PUT), {"name": name, "number": number})

    def put_plain(self, tx: Connection, name: str, number: int) -> None:
        tx.execute(text(_PUT), {"name": name, "number": number})

    async def rows(self) -> dict[str, int]:
        return {
            str(name): int(number)
            for name, number in await self._query("SELECT name, number FROM numbers")
        }

    async def _query(self, statement: str) -> list[Any]:
        url = self._url.replace("sqlite:", "sqlite+aiosqlite:").replace("sql:", "sql+psycopg:")
        engine = create_async_engine(url, poolclass=NullPool)
        async with engine.begin() as connection:
            result = await connection.execute(text(statement))
            return list(result.all()) if result.returns_rows else []


class MemorySubject(ReadModelSubject):
    def __init__(self) -> None:
        self._store = MemoryStore()

    def store(self) -> Store:
        return self._store

    async def put(self, tx: dict[str, int], name: str, number: int) -> None:
        tx[name] = number

    def put_plain(self, tx: dict[str, int], name: str, number: int) -> None:
        tx[name] = number

    async def rows(self) -> dict[str, int]:
        return dict(self._store.rows)


class TestMemory(OffsetStoreContract):
    @pytest.fixture
    def subject(self) -> ReadModelSubject:
        return MemorySubject()


class TestSqlite(OffsetStoreContract):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> ReadModelSubject:
        return SqlSubject(f"sqlite:///{tmp_path / 'model.db'}")


class TestPostgres(OffsetStoreContract):
    @pytest.fixture
    def subject(self, database_url: str) -> ReadModelSubject:
        return SqlSubject(database_url)
