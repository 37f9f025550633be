"""A shop on the shared servers."""

from pathlib import Path

import pytest

from tests.services import KafkaBroker
from tests.verify.shop import EVENTS, Shop


@pytest.fixture
def shop(
    database_url: str,
    kafka: KafkaBroker,
    app: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Shop:
    """Layout `bridge`, installed and empty."""
    made = Shop(database_url, app, kafka.bootstrap_servers, tmp_path / "bridge.yaml", capsys)
    made.configure()
    made.init()
    return made


@pytest.fixture
def foreign_shop(
    database_url: str,
    kafka: KafkaBroker,
    app: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Shop:
    """An empty journal of layout `actor-ts`, neither configured nor installed."""
    made = Shop(database_url, app, kafka.bootstrap_servers, tmp_path / "bridge.yaml", capsys)
    made.sql(EVENTS)
    return made
