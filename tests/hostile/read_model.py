"""A read model that tells how often and in which order it was given each event.

Each entity has a chain of digests: a repeated, lost or exchanged event gives another one.
"""

import os
from collections.abc import Iterable
from hashlib import md5
from operator import attrgetter
from typing import NamedTuple

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from bridge.projections import Event as Delivered
from bridge.projections import Projection, SqlStore
from tests.hostile.events import Event
from tests.hostile.plans import ALL_EVENTS

__all__ = [
    "DATABASE",
    "TARGET",
    "Chain",
    "applied",
    "expected",
    "fold",
    "number_applied",
    "prepare",
]

DATABASE = "HOSTILE_READ_MODEL"
"""Environment variable with the address of the read model."""

TARGET = "tests.hostile.read_model:fold"
"""The projection, as `bridge project` is given it."""

_TABLE = (
    "CREATE TABLE chains (entity text PRIMARY KEY, number bigint NOT NULL, digest text NOT NULL)"
)
_APPEND = text(
    "INSERT INTO chains VALUES (:entity, 1, md5(CAST(:payload AS bytea))) "
    "ON CONFLICT (entity) DO UPDATE SET number = chains.number + 1, "
    "digest = md5(convert_to(chains.digest, 'UTF8') || CAST(:payload AS bytea))"
)


class Chain(NamedTuple):
    """What became of an entity: its number of events, and the digest of all of them."""

    number: int
    digest: str


async def _append(event: Delivered, tx: AsyncConnection) -> None:
    values = {"entity": event.persistence_id, "payload": event.payload}
    await tx.execute(_APPEND, values)


def prepare(url: str) -> None:
    """Make the read model."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_TABLE)


def applied(url: str) -> dict[str, Chain]:
    """The read model."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT entity, number, digest FROM chains").fetchall()
    return {entity: Chain(number, digest) for entity, number, digest in rows}


def number_applied(url: str) -> int:
    """How many events have been applied so far, repetitions included."""
    return sum(chain.number for chain in applied(url).values())


def expected(written: Iterable[Event]) -> dict[str, Chain]:
    """The same fold over what was written."""
    chains: dict[str, Chain] = {}
    for event in sorted(written, key=attrgetter("id")):
        before = chains.get(event.id.persistence_id, Chain(0, ""))
        digest = md5(before.digest.encode() + event.payload, usedforsecurity=False).hexdigest()
        chains[event.id.persistence_id] = Chain(before.number + 1, digest)
    return chains


if DATABASE in os.environ:
    fold = Projection(
        "fold", tags=[ALL_EVENTS], handler=_append, store=SqlStore(os.environ[DATABASE])
    )
