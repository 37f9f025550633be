"""A shop on the shared servers."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import KafkaBroker
from tests.status.shop import Shop


@pytest.fixture
def bare_shop(
    tmp_path: Path,
    app: str,
    database_url: str,
    kafka: KafkaBroker,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Shop]:
    """Configured, nothing installed. Its commands set up logging, which ends with the test."""
    shop = Shop(tmp_path, app, database_url, kafka.bootstrap_servers, capsys)
    shop.configure()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield shop
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("bridge").setLevel(logging.NOTSET)
    logging.captureWarnings(False)


@pytest.fixture
def shop(bare_shop: Shop) -> Shop:
    """With an empty journal of layout `bridge`."""
    assert bare_shop.bridge("init").code == 0
    return bare_shop
