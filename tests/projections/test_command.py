"""`bridge project` as its users run it, with the example of the guide."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from ruamel.yaml import YAML

from tests.docs.pages import code_blocks
from tests.projections.shop import ReadModel, Shop, numbers
from tests.waiting import wait_until

_GUIDE = Path(__file__).parents[2] / "docs" / "projections.md"


@pytest.fixture
def folder(tmp_path: Path, shop: Shop, model: ReadModel) -> Path:
    """A folder with a configuration and a module."""
    config = {
        "app": shop.config.app,
        "kafka": {"bootstrap_servers": shop.config.kafka.bootstrap_servers},
        "journals": {"orders": {"url": "sqlite:///journal.db", "layout": "bridge"}},
    }
    YAML(typ="safe").dump(config, tmp_path / "bridge.yaml")
    example = code_blocks(_GUIDE.read_text(), "python")[0]
    assert "shop@localhost/shop" in example
    example = example.replace("postgresql+psycopg://shop@localhost/shop", model.url)
    (tmp_path / "totals.py").write_text(example.replace('["total"]', '["number"]'))
    with psycopg.connect(model.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE totals (id text PRIMARY KEY, sum bigint NOT NULL)")
    return tmp_path


@contextmanager
def project(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bridge", "project", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_ends_by_itself_or_when_it_is_told(folder: Path, shop: Shop, model: ReadModel) -> None:
    shop.publish(numbers("anna", 1, 10))
    with project(folder, "totals:order_totals", "--until-caught-up") as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert _total(model) == sum(range(11))
    with project(folder, "totals:order_totals") as process:
        shop.publish(numbers("anna", 11, 20))
        wait_until(lambda: _total(model) == sum(range(21)), 30, "ten more events")
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said
    assert _total(model) == sum(range(21))


def _total(model: ReadModel) -> int:
    with psycopg.connect(model.url) as connection:
        [(entity, total)] = connection.execute("SELECT id, sum FROM totals").fetchall()
    assert entity == "anna"
    return int(total)


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("totals", "names no projection"),
        ("nowhere:totals", "module 'nowhere' cannot be imported"),
        ("totals:store", "has no projection 'store'"),
    ],
)
def test_what_is_no_projection_is_refused(folder: Path, target: str, what: str) -> None:
    with project(folder, target) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert what in said
