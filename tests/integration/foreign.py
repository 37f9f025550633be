"""A journal that belongs to somebody else: bridge is attached to it when a test says so."""

import json
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.hostile.checker import Findings, check
from tests.hostile.consumer import TopicReader
from tests.hostile.events import Event, EventId, Record
from tests.hostile.relays import Bridge, Relay, write_config
from tests.hostile.targets import Connection, Target
from tests.waiting import wait_until

__all__ = ["Ended", "ForeignStage", "Place", "end_of", "foreign_stage", "insert_at"]

_COMMAND_LIMIT_S = 60.0
_IS_HISTORY = {
    "outbox": "NOT EXISTS (SELECT FROM bridge_outbox o WHERE o.persistence_id = e.persistence_id "
    "AND o.sequence_nr = e.sequence_nr)",
    "columns": "e.bridge_txid IS NULL",
}
_INSERT_AT = (
    "INSERT INTO events (persistence_id, sequence_nr, payload, tags, timestamp) "
    "VALUES (%s, %s, %s, %s, %s)"
)


@dataclass(frozen=True)
class Place:
    """Where a stage is set up: a folder, an empty database, brokers, a fresh app name."""

    folder: Path
    url: str
    bootstrap_servers: str
    app: str


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def end_of(bridge: Bridge, *arguments: str) -> Ended:
    """Run a command that may end with any code."""
    done = subprocess.run(
        bridge.command(*arguments),
        cwd=bridge.root,
        env=bridge.environment(),
        capture_output=True,
        text=True,
        timeout=_COMMAND_LIMIT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class ForeignStage:
    """A journal with its writer's role, and the configuration of a relay for it.

    Every topic has one partition, so that all order can be seen.

    Args:
        writer_url: address for the unprivileged role that owns the journal's tables.
        journal, relay: further keys of these sections of the configuration.

    Attributes:
        url: address for the superuser, which the relay uses.
    """

    def __init__(
        self,
        place: Place,
        target: Target,
        writer_url: str,
        *,
        journal: Mapping[str, str] | None = None,
        relay: Mapping[str, Any] | None = None,
    ) -> None:
        self.app = place.app
        self.url = place.url
        self.target = target
        self.writer_url = writer_url
        self.bridge = Bridge(place.folder / "bridge.yaml", place.folder / "relay.log")
        self.reader = TopicReader(place.bootstrap_servers, f"{place.app}.")
        write_config(
            self.bridge.config,
            app=place.app,
            bootstrap_servers=place.bootstrap_servers,
            journal={"url": place.url, **target.journal, **(journal or {})},
            partitions=1,
            more={"relay": relay or {}},
        )

    def attach(self) -> None:
        """Install what the relay needs and let the writer use it."""
        self.bridge.run("init")
        self.target.grant(self.url, self.writer_url)

    def connect(self, *, autocommit: bool = False) -> Connection:
        """A connection of the writer's role."""
        return psycopg.connect(self.writer_url, autocommit=autocommit)

    def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction of the writer."""
        with self.connect() as connection:
            self.target.append(connection, events)

    def execute(self, statement: str) -> int:
        """Commit one statement of the writer, who owns the tables; rows affected."""
        with self.connect() as connection:
            return connection.execute(statement.encode()).rowcount

    def history(self) -> set[EventId]:
        """Events that are in the journal and have no place in commit order."""
        condition = _IS_HISTORY[self.target.journal["install"]]
        query = f"SELECT persistence_id, sequence_nr FROM events e WHERE {condition}"
        with psycopg.connect(self.url) as connection:
            return {EventId(*row) for row in connection.execute(query.encode())}

    def topic(self, tag: str) -> str:
        """Name of a plain tag's topic."""
        return f"{self.app}.{tag}"

    def relay(self) -> Relay:
        """Start a relay."""
        return Relay(self.bridge)

    def catch_up(self) -> None:
        """Run a relay until all that is committed now is published."""
        self.bridge.run("relay", "--until-caught-up")

    def attached_at(self) -> list[str]:
        """Where each relay began that `relay` has started so far."""
        whole_lines = self.bridge.log.read_text().rpartition("\n")[0].splitlines()
        entries = [json.loads(line) for line in whole_lines if line[:1] == "{"]
        return [str(entry["position"]) for entry in entries if entry.get("event") == "attached"]

    def published(self, tag: str) -> int:
        """Length of a tag's topic, markers and uncommitted records included."""
        return self.reader.log_length(self.topic(tag), 1)

    def wait_for_log(self, relay: Relay, tag: str, length: int) -> None:
        """Return when a tag's topic has grown to a length; the relay lives until then."""

        def reached() -> bool:
            relay.check_alive()
            return self.published(tag) >= length

        wait_until(reached, 60, f"{length} records in the log of {tag}")

    def records(self, tag: str) -> list[Record]:
        """All committed records of a tag's topic, in order."""
        wanted = self.topic(tag)
        found = [record for record in self.reader.read() if record.topic == wanted]
        return sorted(found, key=lambda record: record.offset)

    def findings(self, written: Sequence[Event]) -> Findings:
        """What the judge says of everything in the topics."""
        return check(written, self.reader.read(), self.topic)

    def require_sound(self, written: Sequence[Event], unordered: Collection[EventId] = ()) -> None:
        """Judge the topics, with the checker and with `verify`.

        Args:
            unordered: events of which effects may come before causes.
        """
        findings = self.findings(written)
        counts = findings.counts()
        excused = {str(event_id) for event_id in unordered}
        counts["effect_before_cause"] = sum(
            line.split(" before ")[0] not in excused for line in findings.effect_before_cause
        )
        assert not any(counts.values()), str(findings)
        report = self.bridge.verify()
        assert report["not_published_yet"] == 0
        assert report["rows"] == len(written)


@contextmanager
def foreign_stage(
    place: Place,
    target: Target,
    *,
    journal: Mapping[str, str] | None = None,
    relay: Mapping[str, Any] | None = None,
) -> Iterator[ForeignStage]:
    """A stage whose writer's role goes with the block; see :class:`ForeignStage`."""
    with target.writer(place.url) as writer_url:
        yield ForeignStage(place, target, writer_url, journal=journal, relay=relay)


def insert_at(connection: Connection, timed: Iterable[tuple[Event, int]]) -> None:
    """Insert events into a foreign journal, each with its own time in milliseconds."""
    with connection.cursor() as cursor:
        cursor.executemany(
            _INSERT_AT,
            [
                (*event.id, event.payload.decode(), ",".join(event.tags), at_ms)
                for event, at_ms in timed
            ],
        )
