"""The same story on PostgreSQL and Kafka, where it leaves nothing."""

import signal
from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AdminClient

from tests.demo.command import run_demo, start_demo
from tests.demo.test_demo import PROMISE
from tests.services import KafkaBroker
from tests.waiting import wait_until


def _schemas(url: str) -> list[str]:
    with psycopg.connect(url) as conn:
        query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'bridge%'"
        return [name for (name,) in conn.execute(query)]


def _left_on(kafka: KafkaBroker) -> list[str]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    groups = admin.list_consumer_groups().result(10).valid
    names = [*admin.list_topics(timeout=10).topics, *[group.group_id for group in groups]]
    return [name for name in names if name.startswith("bridge-demo-")]


def _require_nothing_left_on(kafka: KafkaBroker) -> None:
    """A topic that is being deleted is listed for a moment."""
    try:
        wait_until(lambda: not _left_on(kafka), what="all to be gone")
    except AssertionError as e:
        e.add_note(f"left: {_left_on(kafka)}")
        raise


@pytest.mark.parametrize("fair", [False, True], ids=["skewed", "fair"])
def test_the_same_story_is_told(
    tmp_path: Path, database_url: str, kafka: KafkaBroker, fair: bool
) -> None:
    servers = ["--journal", database_url, "--kafka", kafka.bootstrap_servers]
    answer = run_demo(
        tmp_path, *servers, "--events", "600", "--json", *(["--fair"] if fair else [])
    )
    assert answer.code == 0, answer.err
    found = answer.json
    assert found["bridge"] == {"delivered": 600, **PROMISE}
    assert found["read_model"]["bridge"]["differing"] == 0
    assert found["usual_way"]["lost"] <= 6 if fair else found["usual_way"]["lost"] > 0
    assert found["journal"] == "PostgreSQL"
    assert found["volatile_and_unfenced"] is False
    assert _schemas(database_url) == []
    _require_nothing_left_on(kafka)


def test_an_interrupted_one_leaves_nothing_on_the_servers(
    tmp_path: Path, database_url: str, kafka: KafkaBroker
) -> None:
    servers = ["--journal", database_url, "--kafka", kafka.bootstrap_servers]
    process = start_demo(tmp_path, *servers, "--events", "20000")
    try:
        wait_until(lambda: list(tmp_path.glob("bridge-demo-*/readmodel.db")), 60, "its files")
        assert _schemas(database_url) != []
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, err.strip()) == (130, "bridge: interrupted")
    assert _schemas(database_url) == []
    _require_nothing_left_on(kafka)


@pytest.mark.slow
def test_brokers_that_are_not_there_are_named(tmp_path: Path, database_url: str) -> None:
    answer = run_demo(tmp_path, "--journal", database_url, "--kafka", "127.0.0.1:1")
    assert answer.code == 4
    assert "Kafka" in answer.err
    assert _schemas(database_url) == []
