"""The test servers behave as the tests that break them rely on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.services import KafkaBroker, KafkaFactory, PostgresFactory, ServiceMissingError, resolver
from tests.services.ports import reserve_port
from tests.services.postgres import find_postgres_binaries
from tests.services.runners import GivenRunner
from tests.services.watchdog import alive, identify
from tests.waiting import wait_until

_REPOSITORY = Path(__file__).parents[2]


def _insert_and_leave_one_open(url: str) -> psycopg.Connection[tuple[object, ...]]:
    connection = psycopg.connect(url)
    connection.execute("CREATE TABLE numbers (n int)")
    connection.execute("INSERT INTO numbers VALUES (1)")
    connection.commit()
    connection.execute("INSERT INTO numbers VALUES (2)")
    return connection


def test_a_postgres_crash_keeps_what_was_committed_and_nothing_else(
    private_postgres: PostgresFactory,
) -> None:
    server = private_postgres()
    url = server.create_database()
    with _insert_and_leave_one_open(url) as open_transaction:
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            open_transaction.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    server.start()

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT n FROM numbers").fetchall() == [(1,)]


def test_a_postgres_crash_leaves_no_backend_alive(private_postgres: PostgresFactory) -> None:
    server = private_postgres()
    with psycopg.connect(server.url()) as connection:
        backend = identify(connection.info.backend_pid)
        assert backend is not None
        server.kill()
        assert not alive(backend)


def test_postgres_stops_in_order_and_starts_again(private_postgres: PostgresFactory) -> None:
    with private_postgres() as server:
        url = server.create_database()
        _insert_and_leave_one_open(url).close()
        server.stop()
        server.start()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT n FROM numbers").fetchall() == [(1,)]


def test_a_private_postgres_has_the_settings_that_were_asked_for(
    private_postgres: PostgresFactory,
) -> None:
    server = private_postgres({"wal_writer_delay": "10s"})
    with psycopg.connect(server.url()) as connection:
        shown = [
            connection.execute(f"SHOW {name}").fetchone()
            for name in ("wal_writer_delay", "wal_level", "max_prepared_transactions", "fsync")
        ]
    assert shown == [("10s",), ("logical",), ("20",), ("on",)]


def test_a_fresh_database_is_dropped_with_its_prepared_transactions(
    private_postgres: PostgresFactory,
) -> None:
    server = private_postgres()
    url = server.create_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE numbers (n int)")
        connection.execute("PREPARE TRANSACTION 'left over'")
    server.drop_database(url)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def _create_topic(bootstrap_servers: str, topic: str, replicas: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, replicas)])[topic].result(30)


def _publish(bootstrap_servers: str, app: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": app})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.commit_transaction(30)


def _committed(bootstrap_servers: str, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"{topic}-reader",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    found: list[bytes | None] = []

    def read() -> bool:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            assert message.timestamp()[0] != TIMESTAMP_NOT_AVAILABLE
            found.append(message.value())
        return len(found) >= count

    try:
        wait_until(read, 60, f"{count} records in {topic}")
    finally:
        consumer.close()
    return found


def test_a_broker_crash_keeps_committed_records(private_kafka: KafkaFactory, app: str) -> None:
    broker = private_kafka()
    _create_topic(broker.bootstrap_servers, app, 1)
    _publish(broker.bootstrap_servers, app, app, [b"1", b"2"])
    broker.kill()
    broker.start()
    _publish(broker.bootstrap_servers, app, app, [b"3"])
    assert _committed(broker.bootstrap_servers, app, 3) == [b"1", b"2", b"3"]


def test_a_paused_broker_answers_nothing_until_it_is_resumed(private_kafka: KafkaFactory) -> None:
    broker = private_kafka()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    broker.pause()
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=1)
    broker.resume()
    broker.wait_until_ready()
    assert len(admin.list_topics(timeout=10).brokers) == 1


def test_a_cluster_of_three_survives_the_crash_of_one(
    private_kafka: KafkaFactory, app: str
) -> None:
    cluster = private_kafka(nodes=3)
    _create_topic(cluster.bootstrap_servers, app, 3)
    _publish(cluster.bootstrap_servers, app, app, [b"1"])
    cluster.kill(node=2)
    _publish(cluster.bootstrap_servers, app, app, [b"2"])
    cluster.start(node=2)
    assert _committed(cluster.bootstrap_servers, app, 2) == [b"1", b"2"]


def test_topics_are_never_created_by_accident(kafka: KafkaBroker, app: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.timeout.ms": 1000})
    failures: list[object] = []
    producer.produce(app, b"x", on_delivery=lambda error, _: failures.append(error))
    producer.flush(30)
    assert [error is not None for error in failures] == [True]  # KafkaError == None misbehaves
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    assert app not in admin.list_topics(timeout=10).topics


_RUN_THAT_IS_KILLED = """
import sys, time
from tests.services.postgres import find_postgres_binaries, local_postgres
server = local_postgres(find_postgres_binaries())
import psycopg
connection = psycopg.connect(server.url())  # kept: its backend has to live
print(connection.execute(
    "SELECT current_setting('data_directory'), pg_backend_pid()").fetchone(), flush=True)
sys.stdin.read()
"""


def test_servers_and_their_data_go_with_a_run_that_was_killed() -> None:
    if find_postgres_binaries() is None:
        pytest.fail("install PostgreSQL: this test is about locally installed servers")
    command = [sys.executable, "-c", _RUN_THAT_IS_KILLED]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=_REPOSITORY, stdin=pipe, stdout=pipe, text=True) as run:
        assert run.stdout is not None
        folder, backend_pid = run.stdout.readline().strip("()\n").split(", ")
        backend, data = identify(int(backend_pid)), Path(folder.strip("'"))
        assert backend is not None
        assert data.exists()
        os.kill(run.pid, signal.SIGKILL)
    wait_until(lambda: not alive(backend), what="the backend of the killed run is gone")
    wait_until(lambda: not data.parent.exists(), what="the data of the killed run is gone")


def test_a_reserved_port_is_given_to_nobody_else() -> None:
    ports = [reserve_port() for _ in range(50)]
    assert len({port.number for port in ports}) == 50
    assert all(15_000 <= port.number < 30_000 for port in ports)
    for port in ports:
        port.release()


def test_a_given_server_is_used_first_but_never_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIDGE_TEST_POSTGRES_URL", "postgresql://me:secret@db.example:5433/x")
    monkeypatch.setattr(resolver, "docker_answers", lambda: True)
    assert resolver.resolve_postgres().description == "given, db.example:5433"
    assert resolver.resolve_postgres(disposable=True).description == "Docker"
    with pytest.raises(RuntimeError, match="private_postgres"):
        GivenRunner().kill()


def test_a_missing_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRIDGE_TEST_POSTGRES_URL", raising=False)
    monkeypatch.delenv("BRIDGE_TEST_KAFKA", raising=False)
    monkeypatch.setattr(resolver, "docker_answers", lambda: False)
    monkeypatch.setattr(resolver, "find_postgres_binaries", lambda: None)
    monkeypatch.setattr(resolver, "kafka_tools_missing", lambda: ["maven"])
    with pytest.raises(ServiceMissingError, match="apt-get install postgresql"):
        resolver.resolve_postgres()
    with pytest.raises(ServiceMissingError, match="apt-get install maven"):
        resolver.resolve_kafka()
