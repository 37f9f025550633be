"""What the catalog of a PostgreSQL database says about a journal: typed answers, no judgement."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg.rows import class_row, scalar_row

from bridge.journals.postgres.statements import load
from bridge.journals.postgres.table import COLUMNS_INDEX, JournalTable, Relation

__all__ = [
    "Column",
    "Connection",
    "Found",
    "Index",
    "Schema",
    "SequenceSettings",
    "Trigger",
    "columns",
    "indexes",
    "members",
    "missing_privileges",
    "relation",
    "relation_oids",
    "schema",
    "sequence",
    "triggers",
]

Connection = psycopg.Connection[Any]

T = TypeVar("T")


@dataclass(frozen=True)
class Schema:
    """A schema and what the current role may do in it."""

    oid: int
    may_create: bool
    may_use: bool


@dataclass(frozen=True)
class Found:
    """A table as found.

    Attributes:
        kind: pg_class.relkind, "r" table, "p" partitioned table.
        persistence: pg_class.relpersistence, "p" for one that survives a crash.
        owned: the current role is the owner or a member of it.
        rows_hidden: row level security filters what the current role sees.
    """

    oid: int
    kind: str
    persistence: str
    owner: str
    owned: bool
    rows_hidden: bool


@dataclass(frozen=True)
class Column:
    """A column; `default` is the text of the expression, also of a generated column."""

    name: str
    type: str
    not_null: bool
    generated: bool
    identity: bool
    default: str | None


@dataclass(frozen=True)
class Trigger:
    """A trigger on one relation.

    Attributes:
        enabled: pg_trigger.tgenabled, "A" always, "O" not for replicas, "R" only for them, "D" no.
        before_insert_row: True for BEFORE INSERT … FOR EACH ROW.
        security_definer: its function runs with the rights of the function's owner.
    """

    relation: int
    name: str
    enabled: str
    before_insert_row: bool
    function_schema: str
    security_definer: bool


@dataclass(frozen=True)
class Index:
    """An index with its key columns in order (expressions left out)."""

    name: str
    valid: bool
    unique: bool
    partial: bool
    columns: list[str]


@dataclass(frozen=True)
class SequenceSettings:
    """Settings of a sequence."""

    cache: int
    increment: int
    cycle: bool


def schema(conn: Connection, name: str) -> Schema | None:
    """The schema, None if there is none."""
    return _one(conn, Schema, "schema", schema=name)


def relation(conn: Connection, schema: str, table: str) -> Found | None:
    """The table, view or other relation of that name, None if there is none."""
    return _one(conn, Found, "relation", schema=schema, table=table)


def columns(conn: Connection, oid: int) -> list[Column]:
    """The columns of a table in their order."""
    return _all(conn, Column, "columns", oid=oid)


def members(conn: Connection, oid: int) -> list[Relation]:
    """The table and its partitions on all levels, parents first; a plain table alone."""
    return _all(conn, Relation, "members", oid=oid, index=COLUMNS_INDEX)


def triggers(conn: Connection, oids: Sequence[int]) -> list[Trigger]:
    """The triggers of these tables, those that a partition has from its parent included."""
    return _all(conn, Trigger, "triggers", oids=list(oids))


def indexes(conn: Connection, oid: int) -> list[Index]:
    """The indexes of a table."""
    return _all(conn, Index, "indexes", oid=oid)


def sequence(conn: Connection, table: JournalTable) -> SequenceSettings | None:
    """The sequence behind the ordering column, None if there is none."""
    return _one(conn, SequenceSettings, "sequence", schema=table.schema, sequence=table.sequence)


def missing_privileges(conn: Connection, oid: int, wanted: Sequence[str]) -> list[str]:
    """Those of the wanted table privileges that the current role lacks."""
    rows = conn.execute(load("catalog")["privileges"], {"oid": oid, "wanted": list(wanted)})
    return [str(name) for name, granted in rows.fetchall() if not granted]


def relation_oids(conn: Connection, schema: str, names: Sequence[str]) -> list[int]:
    """Oids of those of the relations that exist, with their partitions."""
    with conn.cursor(row_factory=scalar_row) as cursor:
        cursor.execute(load("catalog")["relation_oids"], {"schema": schema, "names": list(names)})
        return cursor.fetchall()


def _all(conn: Connection, kind: type[T], statement: str, **parameters: object) -> list[T]:
    with conn.cursor(row_factory=class_row(kind)) as cursor:
        return cursor.execute(load("catalog")[statement], parameters).fetchall()


def _one(conn: Connection, kind: type[T], statement: str, **parameters: object) -> T | None:
    return next(iter(_all(conn, kind, statement, **parameters)), None)
