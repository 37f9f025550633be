"""The journals that the hostile run writes to: their tables, their writer's rights, an append."""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.hostile.events import Event, EventId

__all__ = ["ACTOR_TS_COLUMNS", "ACTOR_TS_OUTBOX", "BRIDGE", "Connection", "Target"]

Connection = psycopg.Connection[tuple[Any, ...]]

_FOREIGN_TABLES = (
    "CREATE TABLE events (persistence_id text NOT NULL, sequence_nr bigint NOT NULL, "
    "payload text NOT NULL, tags text, timestamp bigint NOT NULL, "
    "PRIMARY KEY (persistence_id, sequence_nr))",
    "CREATE TABLE events_tags (persistence_id text NOT NULL, sequence_nr bigint NOT NULL, "
    "tag text NOT NULL, timestamp bigint NOT NULL, "
    "PRIMARY KEY (tag, timestamp, persistence_id, sequence_nr))",
    "CREATE TABLE events_meta (persistence_id text PRIMARY KEY, deleted_to bigint NOT NULL)",
)
_BRIDGE_RIGHTS = (
    "GRANT SELECT, INSERT ON bridge_events TO {role}",
    "GRANT USAGE ON SEQUENCE bridge_events_ordering_seq TO {role}",
)


@dataclass(frozen=True)
class Target:
    """One layout and how an application writes to it; the writer is never a privileged role.

    Attributes:
        name: for test ids.
        journal: keys of the journal's section in the configuration, without `url`.
        table: the journal's table.
        foreign_tables: DDL that the writer's own role runs before `bridge init`.
        rights: grants to the writer's role after `bridge init`.
        insert: statements of an append, each executed for every event.
    """

    name: str
    journal: Mapping[str, str]
    table: str
    foreign_tables: Sequence[str] = ()
    rights: Sequence[str] = ()
    insert: Sequence[str] = ()

    @contextmanager
    def writer(self, admin_url: str) -> Iterator[str]:
        """Address for a fresh unprivileged role that owns the foreign tables, if there are any."""
        role = f"writer_{uuid.uuid4().hex[:12]}"
        self._as_admin(admin_url, role, [f"CREATE ROLE {{role}} LOGIN PASSWORD '{role}'"])
        self._as_admin(admin_url, role, ["GRANT CREATE ON SCHEMA public TO {role}"])
        try:
            url = make_conninfo(admin_url, user=role, password=role)
            with psycopg.connect(url, autocommit=True) as connection:
                for statement in self.foreign_tables:
                    connection.execute(statement)
            self._as_admin(admin_url, role, ["REVOKE CREATE ON SCHEMA public FROM {role}"])
            yield url
        finally:
            self._as_admin(admin_url, role, ["DROP OWNED BY {role} CASCADE", "DROP ROLE {role}"])

    def grant(self, admin_url: str, writer_url: str) -> None:
        """Let the writer append to tables that `bridge init` made."""
        role = psycopg.conninfo.conninfo_to_dict(writer_url)["user"]
        self._as_admin(admin_url, str(role), self.rights)

    def append(self, connection: Connection, events: Sequence[Event]) -> None:
        """Insert events in the open transaction, all with one time, taken before the commit."""
        now = time.time_ns() // 1_000_000
        with connection.cursor() as cursor:
            for statement in self.insert:
                cursor.executemany(statement, [_parameters(e, now) for e in events])

    def head(self, connection: Connection, persistence_id: str) -> EventId | None:
        """The last event of an entity that this connection can see."""
        statement = sql.SQL("SELECT max(sequence_nr) FROM {} WHERE persistence_id = %s").format(
            sql.Identifier(self.table)
        )
        row = connection.execute(statement, [persistence_id]).fetchone()
        return EventId(persistence_id, row[0]) if row is not None and row[0] else None

    def stored(self, url: str) -> dict[EventId, tuple[tuple[str, ...], bytes]]:
        """Everything that is in the journal: event to tags and payload."""
        statement = sql.SQL("SELECT persistence_id, sequence_nr, tags, payload FROM {}").format(
            sql.Identifier(self.table)
        )
        with psycopg.connect(url) as connection:
            return {
                EventId(pid, number): (_tags(tags), _payload(payload))
                for pid, number, tags, payload in connection.execute(statement)
            }

    def _as_admin(self, url: str, role: str, statements: Iterable[str]) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.format(role=role))


def _parameters(event: Event, timestamp_ms: int) -> dict[str, Any]:
    return {
        "pid": event.id.persistence_id,
        "seq": event.id.sequence_nr,
        "payload": event.payload,
        "text": event.payload.decode(),
        "tags": list(event.tags),
        "joined": ",".join(event.tags) or None,
        "timestamp": timestamp_ms,
    }


def _tags(stored: list[str] | str | None) -> tuple[str, ...]:
    return tuple(stored.split(",")) if isinstance(stored, str) else tuple(stored or ())


def _payload(stored: bytes | str) -> bytes:
    return stored.encode() if isinstance(stored, str) else bytes(stored)


BRIDGE = Target(
    name="bridge",
    journal={"layout": "bridge"},
    table="bridge_events",
    rights=_BRIDGE_RIGHTS,
    insert=(
        "INSERT INTO bridge_events "
        "(persistence_id, sequence_nr, event_type, payload, tags, timestamp_ms) "
        "VALUES (%(pid)s, %(seq)s, 'happened', %(payload)b, %(tags)s, %(timestamp)s)",
    ),
)
_ACTOR_TS_INSERT = (
    "INSERT INTO events (persistence_id, sequence_nr, payload, tags, timestamp) "
    "VALUES (%(pid)s, %(seq)s, %(text)s, %(joined)s, %(timestamp)s)",
    "INSERT INTO events_tags (persistence_id, sequence_nr, tag, timestamp) "
    "SELECT %(pid)s, %(seq)s, unnest(%(tags)s::text[]), %(timestamp)s",
)
ACTOR_TS_OUTBOX, ACTOR_TS_COLUMNS = (
    Target(
        name=f"actor-ts-{install}",
        journal={"layout": "actor-ts", "install": install},
        table="events",
        foreign_tables=_FOREIGN_TABLES,
        insert=_ACTOR_TS_INSERT,
    )
    for install in ("outbox", "columns")
)
