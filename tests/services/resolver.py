"""Which server a test run uses: a given address, Docker, or what is installed here.

A server that cannot be had is an error with what to install, never a silent skip.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from tests.services.containers import docker_answers, docker_kafka, docker_postgres
from tests.services.kafka import KafkaBroker, KafkaFactory, local_kafka
from tests.services.kafka_jars import KAFKA_VERSION, kafka_tools_missing
from tests.services.postgres import (
    PostgresFactory,
    PostgresServer,
    find_postgres_binaries,
    local_postgres,
)
from tests.services.runners import GivenRunner

__all__ = [
    "Choice",
    "ServiceMissingError",
    "describe_services",
    "resolve_kafka",
    "resolve_postgres",
]

POSTGRES_VARIABLE = "BRIDGE_TEST_POSTGRES_URL"
KAFKA_VARIABLE = "BRIDGE_TEST_KAFKA"

Factory = TypeVar("Factory")


class ServiceMissingError(Exception):
    """A test asked for a server that this machine cannot provide."""


@dataclass(frozen=True)
class Choice(Generic[Factory]):
    """Where a service comes from, and how to start it."""

    description: str
    start: Factory


def _given_postgres(url: str, _: Mapping[str, str] | None = None) -> PostgresServer:
    server = PostgresServer(url, GivenRunner())
    server.start()
    return server


def _given_kafka(
    bootstrap_servers: str, nodes: int = 1, settings: Mapping[str, str] | None = None
) -> KafkaBroker:
    del nodes, settings  # it is as its owner set it up
    broker = KafkaBroker(bootstrap_servers, [GivenRunner()])
    broker.start()
    return broker


def resolve_postgres(disposable: bool = False) -> Choice[PostgresFactory]:
    """Where PostgreSQL comes from; a disposable server is never a given one.

    Raises:
        ServiceMissingError: there is none; the message says what to install.
    """
    url = os.environ.get(POSTGRES_VARIABLE)
    if url and not disposable:
        where = urlsplit(url)
        start = partial(_given_postgres, url)
        return Choice(f"given, {where.hostname}:{where.port or 5432}", start)
    if docker_answers():
        return Choice("Docker", docker_postgres)
    binaries = find_postgres_binaries()
    if binaries is None:
        raise ServiceMissingError(
            "tests need PostgreSQL 15 or newer: apt-get install postgresql, "
            f"or a Docker engine, or {POSTGRES_VARIABLE}=postgresql://user@host:port"
        )
    return Choice(f"installed, {binaries}", partial(local_postgres, binaries))


def resolve_kafka(disposable: bool = False) -> Choice[KafkaFactory]:
    """Where Kafka comes from; a disposable cluster is never a given one.

    Raises:
        ServiceMissingError: there is none; the message says what to install.
    """
    address = os.environ.get(KAFKA_VARIABLE)
    if address and not disposable:
        return Choice(f"given, {address}", partial(_given_kafka, address))
    if docker_answers():
        return Choice("Docker", docker_kafka)
    missing = kafka_tools_missing()
    if missing:
        raise ServiceMissingError(
            f"tests need Kafka: apt-get install {' '.join(missing)}, "
            f"or a Docker engine, or {KAFKA_VARIABLE}=host:port"
        )
    return Choice(f"installed, jars of {KAFKA_VERSION} and the local Java", local_kafka)


def describe_services() -> list[str]:
    """One line per service for the header of a run; starts nothing."""
    lines = []
    for name, resolve in (("PostgreSQL", resolve_postgres), ("Kafka", resolve_kafka)):
        try:
            lines.append(f"{name}: {resolve().description}")
        except ServiceMissingError as error:
            lines.append(f"{name}: MISSING: {error}")
    return lines
