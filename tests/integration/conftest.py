"""Stages on shared servers, and brokers that may be harmed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stage import Stage
from tests.services import KafkaBroker, ServiceMissingError, resolve_kafka

__all__ = ["FRAGILE"]

FRAGILE = {
    # Who may do what is decided by lists that a test can change; without any, all may do all.
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    # Look for timed-out transactions more often than every 10 s: tests wait less.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}

StageFactory = Callable[..., Stage]


@pytest.fixture
def make_stage(tmp_path: Path, database_url: str, kafka: KafkaBroker, app: str) -> StageFactory:
    """Makes a stage with a configuration of the test's own, on the shared servers."""

    def make(*, servers: str = kafka.bootstrap_servers, **options: Any) -> Stage:
        return Stage(tmp_path, database_url, servers, app, **options)

    return make


@pytest.fixture
def stage(make_stage: StageFactory) -> Stage:
    """A stage on the shared servers."""
    return make_stage()


@pytest.fixture(scope="package")
def fragile_kafka() -> Iterator[KafkaBroker]:
    """A broker that the tests of this folder may kill and freeze; each leaves it serving."""
    try:
        choice = resolve_kafka(disposable=True)
    except ServiceMissingError as error:
        pytest.fail(str(error), pytrace=False)
    with choice.start(1, FRAGILE) as broker:
        yield broker


@pytest.fixture
def fragile_stage(
    tmp_path: Path, database_url: str, fragile_kafka: KafkaBroker, app: str
) -> Iterator[Stage]:
    """A stage whose broker may be harmed; it is started again if need be."""
    yield Stage(tmp_path, database_url, fragile_kafka.bootstrap_servers, app)
    fragile_kafka.wait_until_ready()
