"""The house rules, applied; and the rules themselves, tried on small bad samples."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import tidy

_ROOT = Path(__file__).parents[1]


def _module(path: Path) -> str:
    parts = path.relative_to(_ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_SOURCES = {_module(path): path.read_text() for path in sorted((_ROOT / "bridge").rglob("*.py"))}
_CORE = {name: source for name, source in _SOURCES.items() if name.startswith("bridge.core")}

Rule = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    "rule",
    [
        tidy.layer_violations,
        tidy.print_violations,
        tidy.lines_violations,
        tidy.public_names_violations,
    ],
)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    assert [found for name, source in _SOURCES.items() for found in rule(name, source)] == []


def test_the_core_is_pure() -> None:
    assert len(_CORE) > 1
    assert [v for name, source in _CORE.items() for v in tidy.core_violations(name, source)] == []


def test_every_module_is_reached() -> None:
    assert tidy.orphans(_SOURCES) == []


def test_no_work_is_put_off() -> None:
    endings = {".py", ".sql", ".md", ".toml", ".xml", ".avsc"}
    folders = [_ROOT / name for name in ("bridge", "tests", "docs", "schemas", "benchmarks")]
    inside = [path for folder in folders for path in folder.rglob("*") if path.suffix in endings]
    files = [*inside, *_ROOT.glob("*.md"), _ROOT / "Makefile", _ROOT / "pyproject.toml"]
    texts = {str(path.relative_to(_ROOT)): path.read_text() for path in files}
    assert [v for name, text in texts.items() for v in tidy.forbidden_words(name, text)] == []


def test_the_changelog_knows_the_version() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    changelog = (_ROOT / "CHANGELOG.md").read_text()
    assert tidy.version_violations(project["version"], changelog) == []


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (tidy.layer_violations, "bridge.core.rows", "from bridge.kafka.publisher import send"),
        (tidy.layer_violations, "bridge.core.rows", "import bridge.envelope"),
        (tidy.layer_violations, "bridge.kafka.topics", "def f():\n    from bridge import relay"),
        (tidy.layer_violations, "bridge.kafka.topics", "from bridge.journals import base"),
        (tidy.layer_violations, "bridge.novelty", ""),
        (tidy.core_violations, "bridge.core.a", "import time"),
        (tidy.core_violations, "bridge.core.a", "from random import random"),
        (tidy.core_violations, "bridge.core.a", "import logging.handlers"),
        (tidy.core_violations, "bridge.core.a", "import fastavro"),
        (tidy.core_violations, "bridge.core.a", "from bridge.redact import redact"),
        (tidy.core_violations, "bridge.core.a", "import datetime\ndatetime.datetime.now()"),
        (tidy.core_violations, "bridge.core.a", "open('x')"),
        (tidy.core_violations, "bridge.core.a", "async def f(): ..."),
        (tidy.print_violations, "bridge.relay", "def f():\n    print('x')"),
        (tidy.lines_violations, "bridge.relay", "x = 1\n" * 401),
        (tidy.public_names_violations, "bridge.relay", '"""Doc."""\nx = 1'),
        (tidy.forbidden_words, "README.md", f"fine\n# {'todo'.upper()} later"),
        (tidy.version_violations, "0.2.0", "## [0.1.0]\n0.2.0 is near"),
    ],
)
def test_a_violation_is_found(rule: Rule, module: str, source: str) -> None:
    assert len(rule(module, source)) >= 1


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (tidy.layer_violations, "bridge.relay", "from bridge.kafka import topics"),
        (tidy.layer_violations, "bridge.core.a", "from bridge.core.b import x"),
        (tidy.core_violations, "bridge.core.a", "from bridge.core.b import x\nimport bisect"),
        (tidy.print_violations, "bridge.cli.tail", "print('x')"),
        (tidy.lines_violations, "bridge.relay", "x = 1\n" * 400),
        (tidy.public_names_violations, "bridge.core", '"""Only words."""'),
        (tidy.public_names_violations, "bridge.relay", "__all__: list[str] = []\nx = 1"),
        (tidy.version_violations, "0.2.0", "## [0.2.0] - 2026-01-01"),
    ],
)
def test_what_is_allowed_is_let_through(rule: Rule, module: str, source: str) -> None:
    assert rule(module, source) == []


def test_an_orphan_is_found_also_behind_another_orphan() -> None:
    sources = {
        "bridge.cli": "from bridge import relay\nname = 'bridge.cli.tail'",
        "bridge.cli.tail": "",
        "bridge.relay": "",
        "bridge.lost": "import bridge.lost_too",
        "bridge.lost_too": "",
    }
    expected = ["bridge.lost: nothing reaches it", "bridge.lost_too: nothing reaches it"]
    assert tidy.orphans(sources) == expected
