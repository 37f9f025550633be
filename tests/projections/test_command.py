"""`bridge project` as its users run it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.projections.shop import ReadModel, Shop, numbers
from tests.waiting import wait_until

_MODULE = """
from sqlalchemy import text

from bridge.projections import Projection, SqlStore


def apply(event, tx):
    statement = "INSERT INTO applied (entity, number, topic) VALUES (:e, :n, :t)"
    values = {"e": event.persistence_id, "n": event.sequence_nr, "t": event.topic}
    tx.execute(text(statement), values)


store = SqlStore("DATABASE")
totals = Projection("totals", tags=["orders"], handler=apply, store=store)
alone = Projection("alone", tags=["orders"], handler=print, store=store, delivery="at_least_once")
"""


@pytest.fixture
def folder(tmp_path: Path, shop: Shop, model: ReadModel) -> Path:
    """A folder with a configuration and a module."""
    config = {
        "app": shop.config.app,
        "kafka": {"bootstrap_servers": shop.config.kafka.bootstrap_servers},
        "journals": {"orders": {"url": "sqlite:///journal.db", "layout": "bridge"}},
    }
    YAML(typ="safe").dump(config, tmp_path / "bridge.yaml")
    (tmp_path / "totals.py").write_text(_MODULE.replace("DATABASE", model.url))
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
    with project(folder, "totals:totals", "--until-caught-up") as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert model.applied() == numbers("anna", 1, 10)
    with project(folder, "totals:totals") as process:
        shop.publish(numbers("anna", 11, 20))
        wait_until(lambda: len(model.applied()) == 20, 30, "ten more events")
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said
    assert model.applied() == numbers("anna", 1, 20)


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
