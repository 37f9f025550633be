"""A shop on the shared servers, and an empty read model."""

from pathlib import Path

import pytest

from tests.projections.shop import ReadModel, Shop
from tests.services import KafkaBroker


@pytest.fixture
def shop(kafka: KafkaBroker, app: str, tmp_path: Path) -> Shop:
    """Topics with one partition."""
    return Shop(kafka.bootstrap_servers, app, tmp_path)


@pytest.fixture
def model(database_url: str) -> ReadModel:
    """An empty read model."""
    return ReadModel(database_url)
