"""A shop on the shared servers."""

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
) -> Shop:
    """Configured, nothing installed."""
    shop = Shop(tmp_path, app, database_url, kafka.bootstrap_servers, capsys)
    shop.configure()
    return shop


@pytest.fixture
def shop(bare_shop: Shop) -> Shop:
    """With an empty journal of layout `bridge`."""
    assert bare_shop.bridge("init").code == 0
    return bare_shop
