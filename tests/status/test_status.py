"""Status is measured against the journal, without a relay."""

import time
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.status.shop import Shop
from tests.waiting import wait_until

_EMPTY_OUTBOX = "ALTER TABLE events DISABLE TRIGGER ALL"


def status(shop: Shop, code: int = 0) -> dict[str, Any]:
    answer = shop.bridge("status", "--json")
    assert answer.code == code, answer
    [journal] = answer.json["journals"]
    assert isinstance(journal, dict)
    return journal


def test_a_published_journal_has_no_lag(shop: Shop) -> None:
    shop.publish(3)
    found = status(shop)
    assert found["lag"] == {"rows": 0, "at_least": False, "oldest_age_s": None}
    assert found["cursor"]["rows"] == 3
    assert found["cursor"]["topics"][0]["name"] == f"{shop.app}.red"
    assert found["identity_ok"] is True
    assert found["bypassed"] == {"rows": 0, "at_least": False}
    assert (found["blockers"], found["problems"], found["failure"]) == ([], [], None)


def test_keys_of_the_json_are_stable(shop: Shop) -> None:
    shop.publish(1)
    found = status(shop)
    assert set(found) == {
        "journal", "database", "layout", "ordering", "cursor", "lag", "blockers", "identity_ok",
        "bypassed", "parked", "problems", "failure",
    }  # fmt: skip
    assert set(found["cursor"]) == {
        "offset", "recorded_at_ms", "committed_at_ms", "owner", "shard", "shards", "rows",
        "origin", "position", "identity", "topics",
    }  # fmt: skip
    assert (found["journal"], found["ordering"]) == ("orders", "snapshot")


def test_before_the_first_relay_every_row_is_lag(shop: Shop) -> None:
    with shop.connect() as conn:
        shop.append(conn, "p", 1)
    found = status(shop)
    assert found["cursor"] is None
    assert found["lag"]["rows"] == 1


def test_lag_counts_committed_rows_only_and_the_blocker_is_named(shop: Shop) -> None:
    shop.publish(2)
    with shop.connect("slow-checkout") as slow, shop.connect("stranger") as stranger:
        shop.append(slow, "q", 1)
        stranger.execute("SELECT pg_current_xact_id()")
        with shop.connect() as conn:
            shop.append(conn, "p", 3, at_ms=time.time_ns() // 1_000_000 - 60_000)
            shop.append(conn, "p", 4, at_ms=time.time_ns() // 1_000_000)
        found = status(shop)
        assert found["lag"]["rows"] == 2
        assert 60 <= found["lag"]["oldest_age_s"] < 120
        # The stranger has a number but has written nothing here: it holds nothing back.
        [blocker] = found["blockers"]
        assert blocker["application"] == "slow-checkout"
        assert blocker["pid"] == slow.info.backend_pid
        assert (blocker["user"], blocker["state"]) == ("postgres", "idle in transaction")
        assert blocker["age_s"] >= 0
        text = shop.bridge("status").out
        assert f"session {slow.info.backend_pid} of slow-checkout" in text
        assert "2 rows" in text
        slow.commit()
        found = status(shop)
        assert (found["lag"]["rows"], found["blockers"]) == (3, [])


def test_rows_behind_an_open_transaction_stay_lag_after_it_ends(shop: Shop) -> None:
    """The relay has passed its number; the row that appears behind the cursor still counts."""
    with shop.connect() as slow:
        shop.append(slow, "q", 1)
        shop.publish(2)
        assert status(shop)["lag"]["rows"] == 0
        slow.commit()
        assert status(shop)["lag"]["rows"] == 1
    shop.relay()
    assert status(shop)["lag"]["rows"] == 0


def test_a_prepared_transaction_is_named(shop: Shop) -> None:
    with shop.connect() as conn:
        conn.tpc_begin("two-phase")
        shop.append(conn, "p", 1)
        conn.tpc_prepare()
        [blocker] = status(shop)["blockers"]
        assert (blocker["prepared"], blocker["pid"]) == ("two-phase", None)
        conn.tpc_rollback()


@pytest.mark.parametrize("install", ["outbox", "columns"])
def test_rows_past_the_installation_are_reported(bare_shop: Shop, install: str) -> None:
    insert = "INSERT INTO events VALUES ('p', {}, '{{}}', 'red', 1700000000000)"
    bare_shop.configure(journal={"layout": "actor-ts", "install": install})
    bare_shop.execute(
        "CREATE TABLE events (persistence_id text NOT NULL, sequence_nr bigint NOT NULL, payload "
        "text NOT NULL, tags text, timestamp bigint NOT NULL, "
        "PRIMARY KEY (persistence_id, sequence_nr))",
        insert.format(1),
    )
    assert bare_shop.bridge("init").code == 0
    columns = "(persistence_id, sequence_nr, payload, tags, timestamp)"
    insert = insert.replace("events", f"events {columns}")
    bare_shop.execute(insert.format(2))
    found = status(bare_shop)
    assert (found["lag"]["rows"], found["bypassed"]["rows"]) == (2, 0)  # one of them is history
    bare_shop.relay()
    assert status(bare_shop)["lag"]["rows"] == 0
    bare_shop.execute(_EMPTY_OUTBOX, insert.format(3))
    found = status(bare_shop, code=6)
    assert (found["lag"]["rows"], found["bypassed"]["rows"]) == (0, 1)
    assert "written past the installation" in found["problems"][0]
    errors = [c for c in checks(bare_shop) if c["level"] == "error"]
    assert any("disabled" in error["what"] for error in errors)


def checks(shop: Shop, code: int = 3) -> list[dict[str, Any]]:
    answer = shop.bridge("check", "--connect", "--json")
    assert answer.code == code, answer
    found = answer.json["checks"]
    assert isinstance(found, list)
    return found


def test_a_restored_database_is_a_mismatch(shop: Shop) -> None:
    shop.publish(1)
    shop.execute("DELETE FROM bridge_state WHERE key LIKE 'witness%'")
    found = status(shop, code=6)
    assert found["identity_ok"] is False
    assert "witness" in found["problems"][0]
    assert any("witness" in c["what"] for c in checks(shop) if c["level"] == "error")


def test_a_lost_cursor_is_a_problem(shop: Shop) -> None:
    shop.publish(1)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap_servers})
    topic = f"{shop.app}--orders--cursors"
    admin.delete_topics([topic])[topic].result(10)
    wait_until(lambda: topic not in admin.list_topics(timeout=5).topics, what="topic is gone")
    found = status(shop, code=6)
    assert (found["cursor"], found["lag"]) == (None, None)
    assert "no cursor" in found["problems"][0]


def test_a_tag_topic_that_is_gone_is_a_problem(shop: Shop) -> None:
    shop.publish(1)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap_servers})
    topic = f"{shop.app}.red"
    admin.delete_topics([topic])[topic].result(10)
    wait_until(lambda: topic not in admin.list_topics(timeout=5).topics, what="topic is gone")
    assert "was deleted" in status(shop, code=6)["problems"][0]


def test_what_cannot_be_asked_hides_nothing_else(shop: Shop) -> None:
    shop.publish(1)
    shop.execute("ALTER TABLE bridge_events RENAME TO elsewhere")
    found = status(shop, code=3)
    assert found["cursor"]["rows"] == 1
    assert "elsewhere" not in found["failure"]["what"]
    assert "bridge_events" in found["failure"]["what"]
