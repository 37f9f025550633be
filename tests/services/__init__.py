"""Real servers for tests: started when a test asks, ended with the run."""

from tests.services.kafka import KafkaBroker, KafkaFactory
from tests.services.postgres import PostgresFactory, PostgresServer
from tests.services.resolver import (
    ServiceMissingError,
    describe_services,
    resolve_kafka,
    resolve_postgres,
)

__all__ = [
    "KafkaBroker",
    "KafkaFactory",
    "PostgresFactory",
    "PostgresServer",
    "ServiceMissingError",
    "describe_services",
    "resolve_kafka",
    "resolve_postgres",
]
