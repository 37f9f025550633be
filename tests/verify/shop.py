"""A configured journal with its topics: filled, relayed by the relay itself, damaged, verified."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from ruamel.yaml import YAML

from bridge.cli.exits import run
from bridge.config import load_config
from bridge.relay.assemble import assemble_relay

__all__ = ["Shop", "ours"]

EVENTS = """
CREATE TABLE events (persistence_id text NOT NULL, sequence_nr bigint NOT NULL,
  payload text NOT NULL, tags text, timestamp bigint NOT NULL,
  PRIMARY KEY (persistence_id, sequence_nr));
CREATE TABLE events_meta (persistence_id text PRIMARY KEY, deleted_to bigint NOT NULL);
"""

PARTITION_UA = -1  # lets the client choose

Headers = list[tuple[str, str | bytes | None]]


def ours(pid: str, seq: int, *more: tuple[str, str]) -> Headers:
    """The headers that tell which event a record is."""
    return [("ce_id", f"{pid}/{seq}"), ("ce_sequence", f"{seq:020d}"), *more]


@dataclass
class Shop:
    """One journal, `orders`; `capsys` catches what commands print."""

    url: str
    app: str
    servers: str
    file: Path
    capsys: pytest.CaptureFixture[str]
    layout: str = "bridge"

    def configure(
        self, journal: Mapping[str, str] | None = None, topics: Mapping[str, Any] | None = None
    ) -> None:
        """Write the configuration and install the journal."""
        journal = {"layout": "bridge", **(journal or {})}
        self.layout = journal["layout"]
        settings = {
            "app": self.app,
            "kafka": {"bootstrap_servers": self.servers},
            "journals": {"orders": {"url": self.url, **journal}},
            "topics": {"partitions": 2, **(topics or {})},
        }
        YAML(typ="safe").dump(settings, self.file)

    def init(self) -> None:
        """Install what the relay needs."""
        assert run(["-c", str(self.file), "init"]) == 0

    def sql(self, statement: str, params: Sequence[object] = ()) -> None:
        """Execute and commit."""
        with psycopg.connect(self.url) as conn:
            conn.execute(statement.encode(), params or None)

    def append(self, pid: str, first: int, last: int, tags: Sequence[str] = ("red",)) -> None:
        """Commit events `first` to `last` of an entity."""
        rows = "FROM generate_series(%s::bigint, %s::bigint) AS n"
        if self.layout == "bridge":
            self.sql(
                "INSERT INTO bridge_events"
                " (persistence_id, sequence_nr, event_type, payload, tags, timestamp_ms)"
                f" SELECT %s, n, 'happened', '{{}}', %s, 1700000000000 {rows}",
                [pid, list(tags), first, last],
            )
        else:
            self.sql(
                "INSERT INTO events (persistence_id, sequence_nr, payload, tags, timestamp)"
                f" SELECT %s, n, '{{}}', nullif(%s, ''), 1700000000000 + n {rows}",
                [pid, ",".join(tags), first, last],
            )

    def relay(self) -> None:
        """Publish everything that is committed."""
        assemble_relay(load_config(self.file, {}), "orders", until_caught_up=True).run()

    def topic(self, tag: str = "red") -> str:
        """Name of a tag's topic."""
        return f"{self.app}.{tag}"

    def produce(
        self, pid: bytes | None, headers: Headers, tag: str = "red", partition: int | None = None
    ) -> None:
        """Write into a topic past the relay."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "partitioner": "murmur2_random", "log_level": 0}
        )
        where = PARTITION_UA if partition is None else partition
        producer.produce(self.topic(tag), key=pid, value=b"{}", headers=headers, partition=where)
        assert producer.flush(10) == 0

    def verify(self, code: int) -> dict[str, Any]:
        """The report of `verify --json`, which must end with `code`."""
        self.capsys.readouterr()
        ended = run(["-c", str(self.file), "verify", "--json"])
        out, err = self.capsys.readouterr()
        assert ended == code, f"{ended}\n{out}\n{err}"
        report = json.loads(out)
        assert isinstance(report, dict)
        return report

    def differences(self, code: int) -> dict[str, int]:
        """The counts that are not 0, without the totals."""
        report = self.verify(code)
        totals = ("rows", "records")
        return {k: v for k, v in report.items() if isinstance(v, int) and v and k not in totals}
