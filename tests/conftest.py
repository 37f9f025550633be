"""Fixtures of all tests: shared servers, disposable servers, fresh names."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TypeVar

import pytest

from tests.services import (
    KafkaBroker,
    KafkaFactory,
    PostgresFactory,
    PostgresServer,
    ServiceMissingError,
    describe_services,
    resolve_kafka,
    resolve_postgres,
)

T = TypeVar("T")


def pytest_report_header() -> list[str]:
    """Say which servers this run uses."""
    return describe_services()


def _or_fail(resolve: Callable[[], T]) -> T:
    try:
        return resolve()
    except ServiceMissingError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The PostgreSQL server that tests share. To break a server, take `private_postgres`."""
    with _or_fail(resolve_postgres).start() as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaBroker]:
    """The Kafka broker that tests share. To break a broker, take `private_kafka`."""
    with _or_fail(resolve_kafka).start() as broker:
        yield broker


@pytest.fixture
def database_url(postgres: PostgresServer) -> Iterator[str]:
    """Address of a fresh, empty database on the shared server; dropped after the test."""
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture
def app() -> str:
    """A fresh app name: topics and transactional ids below it belong to one test."""
    return f"app-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def private_postgres() -> Iterator[PostgresFactory]:
    """Starts PostgreSQL servers of the test's own, closed after it."""
    with ExitStack() as servers:

        def start(settings: Mapping[str, str] | None = None) -> PostgresServer:
            choice = _or_fail(lambda: resolve_postgres(disposable=True))
            server = choice.start(settings)
            servers.callback(server.close)
            return server

        yield start


@pytest.fixture
def private_kafka() -> Iterator[KafkaFactory]:
    """Starts Kafka clusters of the test's own, closed after it."""
    with ExitStack() as clusters:

        def start(nodes: int = 1, settings: Mapping[str, str] | None = None) -> KafkaBroker:
            choice = _or_fail(lambda: resolve_kafka(disposable=True))
            broker = choice.start(nodes, settings)
            clusters.callback(broker.close)
            return broker

        yield start
