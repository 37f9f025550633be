"""SQLite journals through the whole relay into a real broker, run by the command line."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer, TopicPartition

from bridge.journals.sqlite.table import SqliteTable
from tests.journals.sqlite.subject import ACTOR_TS, BRIDGE, SqliteSubject
from tests.services import KafkaBroker


def _bridge(config: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "bridge", "-c", str(config), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def _read(servers: str, topic: str) -> list[str]:
    """Ids of committed records, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    ids = []
    for number in range(3):
        consumer.assign([TopicPartition(topic, number, 0)])
        while (message := consumer.poll(10)) is not None and message.error() is None:
            headers = dict(cast("list[tuple[str, bytes]]", message.headers()))
            ids.append(headers["ce_id"].decode())
    consumer.close()
    return ids


@pytest.mark.parametrize("table", [BRIDGE, ACTOR_TS], ids=["bridge", "actor-ts"])
def test_every_row_is_published_once_over_several_runs(
    kafka: KafkaBroker, app: str, tmp_path: Path, table: SqliteTable
) -> None:
    subject = SqliteSubject(tmp_path / "journal.db", table)
    config = tmp_path / "bridge.yaml"
    config.write_text(
        json.dumps(
            {
                "app": app,
                "kafka": {"bootstrap_servers": kafka.bootstrap_servers},
                "journals": {"orders": {"url": subject.url, "layout": table.layout}},
                "topics": {"partitions": 3, "replication_factor": 1},
            }
        )
    )
    if table is ACTOR_TS:
        subject.commit(("history", 1))
    _bridge(config, "init")
    events = [("history", 1)] if table is ACTOR_TS else []
    for run in range(3):
        added = [(pid, nr) for pid in "abc" for nr in range(run * 20 + 1, run * 20 + 21)]
        subject.commit(*added)
        events += added
        _bridge(config, "relay", "--until-caught-up")
    ids = _read(kafka.bootstrap_servers, f"{app}.a")
    assert Counter(ids) == Counter(f"{pid}/{nr}" for pid, nr in events)
    for pid in "abc":
        numbers = [int(id_.split("/")[1]) for id_ in ids if id_.startswith(f"{pid}/")]
        assert numbers == sorted(numbers)
