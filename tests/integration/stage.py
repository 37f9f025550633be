"""One journal, its configuration, its topics: what every test of this folder plays on."""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.hostile.checker import check
from tests.hostile.consumer import TopicReader
from tests.hostile.events import Event, EventId, Record
from tests.hostile.relays import Bridge, Relay, write_config
from tests.hostile.targets import BRIDGE, Connection
from tests.waiting import wait_until

__all__ = ["TAG", "Stage", "event_ids", "let_pass", "rows"]

TAG = "orders"
_ARRIVAL_LIMIT_S = 30.0


class Stage:
    """A prepared journal of layout `bridge` on PostgreSQL and the relay's configuration for it.

    Args:
        url: an empty database.
        bootstrap_servers: the brokers, for the consumer and the relay.
        relay_servers: where the relay looks for the brokers, when that is elsewhere.
        more: further keys of sections of the configuration.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        bootstrap_servers: str,
        app: str,
        *,
        relay_servers: str | None = None,
        partitions: int = 1,
        more: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.url = url
        self.app = app
        self.servers = bootstrap_servers
        self.bridge = Bridge(folder / "bridge.yaml", folder / "relay.log")
        self.reader = TopicReader(bootstrap_servers, f"{app}.")
        write_config(
            self.bridge.config,
            app=app,
            bootstrap_servers=relay_servers or bootstrap_servers,
            journal={"url": url, **BRIDGE.journal},
            partitions=partitions,
            more=more,
        )
        self.bridge.run("init")

    def topic(self, tag: str = TAG) -> str:
        """Name of a plain tag's topic."""
        return f"{self.app}.{tag}"

    def relay(self, name: str = "relay") -> Relay:
        """Start a relay with a log of its own name."""
        return Relay(replace(self.bridge, log=self.bridge.log.with_name(f"{name}.log")))

    def connect(self, *, autocommit: bool = False) -> Connection:
        """A connection of an application; by default every statement is in a transaction."""
        return psycopg.connect(self.url, autocommit=autocommit)

    def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction."""
        with self.connect() as connection:
            BRIDGE.append(connection, events)

    def stored(self) -> list[Event]:
        """What the journal holds, as events."""
        return [
            _event(tags, payload)
            for tags, payload in wait_until(lambda: BRIDGE.stored(self.url), 5, "rows").values()
        ]

    def records(self) -> list[Record]:
        """All committed records."""
        return list(self.reader.read())

    def wait_for(self, events: Collection[Event], timeout_s: float = _ARRIVAL_LIMIT_S) -> None:
        """Return when all these have arrived, each in one topic at least."""
        wanted = {event.id for event in events}

        def missing() -> set[EventId]:
            return wanted.difference(event_ids(self.records()))

        wait_until(lambda: not missing(), timeout_s, f"all of {len(wanted)} events arrive")

    def wait_for_traffic(self, relay: Relay, number: int = 30) -> None:
        """Return while the relay, which must live, is in the middle of commits.

        To read records is no way to see it: that waits until nobody writes.
        """
        enough = self.reader.log_length(self.topic(), 1) + number

        def grown() -> bool:
            relay.check_alive()
            return self.reader.log_length(self.topic(), 1) >= enough

        wait_until(grown, 60, f"{number} more records")

    def judge(
        self,
        written: Sequence[Event] | None = None,
        topic_of: Callable[[str], str] | None = None,
    ) -> None:
        """Every event of the journal is in each of its topics once and in order, and no other."""
        findings = check(written or self.stored(), self.reader.read(), topic_of or self.topic)
        assert not any(findings.counts().values()), str(findings)

    def end_relay_sessions(self) -> int:
        """Terminate the relay's database sessions, as an operator or a pooler would; how many."""
        with self.connect(autocommit=True) as connection:
            query = sql.SQL(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'bridge relay%'"
            )
            return len(connection.execute(query).fetchall())


_attempts = count(1)


def rows(
    entity: str,
    number: int,
    *,
    start: int = 1,
    tags: Iterable[str] = (TAG,),
    padding: int = 0,
) -> list[Event]:
    """New events of one entity; no two attempts to write the same event are alike."""
    return [
        Event(EventId(entity, n), tuple(tags), None, next(_attempts), padding)
        for n in range(start, start + number)
    ]


def event_ids(records: Iterable[Record]) -> list[EventId]:
    """The events of records, as their values tell."""
    return [EventId(*json.loads(record.value or b"")["id"]) for record in records]


def let_pass(seconds: float) -> None:
    """For faults that are made of time: a frozen server cannot be asked how far it is."""
    threading.Event().wait(seconds)


def _event(tags: tuple[str, ...], payload: bytes) -> Event:
    body = json.loads(payload)
    padding = len(body.get("padding", ""))
    event = Event(EventId(*body["id"]), tags, None, body["writer"], padding)
    assert event.payload == payload, "the journal holds a payload that no test wrote"
    return event
