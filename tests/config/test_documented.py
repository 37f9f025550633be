"""docs/configuration.md names every key, default, bound and refused property."""

from pathlib import Path

import annotated_types
import pytest

from bridge.config import Journal, Kafka, Relay, Topics
from bridge.config.models import Section
from bridge.config.paths import known_paths
from bridge.config.properties import REFUSED

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")


def row_of(section: str, key: str) -> str:
    body = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line for line in body.splitlines() if line.startswith(f"| `{key}` |")]
    assert len(rows) == 1, f"{section}: {key}"
    return rows[0]


def test_every_key_has_a_row() -> None:
    titles = {1: "Top level", 2: "{0}", 3: "journals.NAME"}
    for path in known_paths(("NAME",)):
        if len(path) <= 3:  # durability's own key is explained in its row
            row_of(titles[len(path)].format(*path), path[-1])


@pytest.mark.parametrize(("title", "section"), [("relay", Relay), ("topics", Topics)])
def test_defaults_and_bounds_are_those_of_the_model(title: str, section: type[Section]) -> None:
    for name, field in section.model_fields.items():
        row = row_of(title, name)
        if isinstance(field.default, int):
            assert f"| {field.default} |" in row
        for bound in field.metadata:
            if isinstance(bound, annotated_types.Ge):
                assert f"{bound.ge}" in row
            if isinstance(bound, annotated_types.Le):
                assert f" to {bound.le} |" in row


@pytest.mark.parametrize(("title", "section"), [("kafka", Kafka), ("journals.NAME", Journal)])
def test_required_keys_are_said_to_be(title: str, section: type[Section]) -> None:
    derived = {"table", "source"}
    for name, field in section.model_fields.items():
        required = field.is_required() and name not in derived
        assert ("| required |" in row_of(title, field.alias or name)) is required


@pytest.mark.parametrize("name", REFUSED)
def test_every_refused_property_is_listed(name: str) -> None:
    assert f"`{name}`" in TEXT
