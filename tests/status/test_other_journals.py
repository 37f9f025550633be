"""Status of journals in SQLite, and under names that need care."""

import sqlite3
from pathlib import Path

import pytest

from tests.status.shop import Shop

_EVENTS = (
    "CREATE TABLE events (persistence_id text NOT NULL, sequence_nr bigint NOT NULL, "
    "payload text NOT NULL, tags text, timestamp bigint NOT NULL, "
    "PRIMARY KEY (persistence_id, sequence_nr))"
)
_INSERT = {
    "bridge": "INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags, "
    "timestamp_ms) VALUES ('p', ?, 'happened', '{}', '[\"red\"]', 1700000000000)",
    "actor-ts": "INSERT INTO events VALUES ('p', ?, '{}', 'red,blue', 1700000000000)",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.mark.parametrize("layout", ["bridge", "actor-ts"])
def test_sqlite(bare_shop: Shop, file: Path, layout: str) -> None:
    conn = sqlite3.connect(file, isolation_level=None)
    history = 0
    if layout == "actor-ts":
        conn.execute(_EVENTS)
        conn.execute(_INSERT[layout], [1])
        history = 1
    bare_shop.configure(journal={"url": f"sqlite:///{file}", "layout": layout})
    assert bare_shop.bridge("init").code == 0
    for nr in range(2, 5):
        conn.execute(_INSERT[layout], [nr])
    assert _lag(bare_shop) == 3 + history
    assert bare_shop.bridge("check", "--connect").code == 0
    bare_shop.relay()
    assert _lag(bare_shop) == 0
    conn.execute(_INSERT[layout], [5])
    assert _lag(bare_shop) == 1
    checked = bare_shop.bridge("check", "--connect")
    assert checked.code == 0
    assert f"topic {bare_shop.app}.red" in checked.out
    conn.execute("DELETE FROM bridge_state WHERE key LIKE 'witness%'")
    assert bare_shop.bridge("status").code == 6
    conn.close()


@pytest.mark.parametrize("install", ["outbox", "columns"])
def test_a_schema_named_like_a_parameter(bare_shop: Shop, install: str) -> None:
    bare_shop.execute(
        'CREATE SCHEMA "100%s"',
        _EVENTS.replace("events", '"100%s".events'),
        "INSERT INTO \"100%s\".events VALUES ('p', 1, '{}', 'red', 1700000000000)",
    )
    bare_shop.configure(journal={"layout": "actor-ts", "install": install, "schema": "100%s"})
    assert bare_shop.bridge("init").code == 0
    assert _lag(bare_shop) == 1
    bare_shop.relay()
    assert _lag(bare_shop) == 0


def _lag(shop: Shop) -> int:
    answer = shop.bridge("status", "--json")
    assert answer.code == 0, answer
    [journal] = answer.json["journals"]
    rows = journal["lag"]["rows"]
    assert isinstance(rows, int)
    return rows
