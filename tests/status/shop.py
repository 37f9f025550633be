"""A configured shop on real servers: its journal, its commands, a relay that catches up."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ruamel.yaml import YAML

from bridge.cli.exits import run

__all__ = ["INSERT", "Answer", "Shop"]

INSERT = (
    "INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags, "
    "timestamp_ms) VALUES (%s, %s, 'happened', %s, %s, %s)"
)


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Shop:
    """One app with one journal, `orders`."""

    folder: Path
    app: str
    url: str
    bootstrap_servers: str
    capsys: pytest.CaptureFixture[str]

    @property
    def config(self) -> Path:
        """Its configuration file."""
        return self.folder / "bridge.yaml"

    def configure(
        self, journal: Mapping[str, Any] | None = None, topics: Mapping[str, Any] | None = None
    ) -> None:
        """Write the configuration file."""
        config = {
            "app": self.app,
            "kafka": {"bootstrap_servers": self.bootstrap_servers},
            "journals": {"orders": {"url": self.url, "layout": "bridge", **(journal or {})}},
            "topics": {"partitions": 2, **(topics or {})},
        }
        YAML(typ="safe").dump(config, self.config)

    def bridge(self, *arguments: str) -> Answer:
        """Run a command in this process."""
        self.capsys.readouterr()
        code = run(["-c", str(self.config), *arguments])
        return Answer(code, *self.capsys.readouterr())

    def relay(self) -> None:
        """Publish everything that is committed."""
        command = [sys.executable, "-m", "bridge", "-c", str(self.config), "relay"]
        done = subprocess.run(
            [*command, "--until-caught-up"], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr

    def connect(self, application: str = "shop") -> "psycopg.Connection[Any]":
        """A session with a transaction of its own."""
        return psycopg.connect(self.url, application_name=application)

    def append(
        self,
        conn: "psycopg.Connection[Any]",
        pid: str,
        nr: int,
        tags: Sequence[str] = ("red",),
        *,
        payload: bytes = b"{}",
        at_ms: int = 1_700_000_000_000,
    ) -> None:
        """Insert one event, without a commit."""
        conn.execute(INSERT, [pid, nr, payload, list(tags), at_ms])

    def publish(self, count: int, tags: Sequence[str] = ("red",)) -> None:
        """Commit events 1 to `count` of entity `p`, and let a relay publish them."""
        with self.connect() as conn:
            for nr in range(1, count + 1):
                self.append(conn, "p", nr, tags, payload=b'{"nr":%d}' % nr)
        self.relay()

    def execute(self, *statements: str) -> None:
        """Statements of the superuser, each on its own."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            for statement in statements:
                conn.execute(statement)
