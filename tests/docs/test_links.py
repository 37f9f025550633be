"""The documentation leads where it says, and names only what there is."""

from pathlib import Path

import pytest

from bridge.cli.group import bridge
from bridge.config import load_config
from tests.docs.pages import (
    broken_links,
    code_blocks,
    headings,
    markdown_files,
    numbered_headings,
    unknown_commands,
)

_ROOT = Path(__file__).parents[2]
_PAGES = markdown_files(_ROOT)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return str(path.relative_to(_ROOT))


def test_the_pages_are_found() -> None:
    found = {_name(path) for path in _PAGES}
    assert {"README.md", "ARCHITECTURE.md", "docs/guarantees.md", "docs/operations.md"} <= found


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken_links(page, _read(page)) == []


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_commands_and_options_exist(page: Path) -> None:
    assert unknown_commands(bridge, _read(page)) == []


def test_every_command_is_in_the_documentation() -> None:
    text = "\n".join(_read(page) for page in _PAGES)
    assert [name for name in bridge.commands if f"bridge {name}" not in text] == []


def test_the_configuration_of_the_readme_is_accepted(tmp_path: Path) -> None:
    (block,) = code_blocks(_read(_ROOT / "README.md"), "yaml")
    file = tmp_path / "bridge.yaml"
    file.write_text(block)
    assert load_config(file, {}).journals["orders"].layout == "bridge"


def test_the_python_of_the_readme_is_syntactically_right() -> None:
    blocks = code_blocks(_read(_ROOT / "README.md"), "python")
    assert {compile(block, "README.md", "exec").co_filename for block in blocks} == {"README.md"}


def test_both_languages_have_the_same_numbered_headings() -> None:
    english, german = (_read(_ROOT / "docs" / f"guarantees{end}.md") for end in ("", ".de"))
    numbers = numbered_headings(english)
    assert numbers == [str(i) for i in range(1, len(numbers) + 1)]
    assert len(numbers) > 10
    assert numbered_headings(german) == numbers


def test_every_decision_is_listed() -> None:
    folder = _ROOT / "docs" / "decisions"
    listed = _read(folder / "README.md")
    assert [p.name for p in folder.glob("0*.md") if f"]({p.name})" not in listed] == []


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[a](nowhere.md)", ["nowhere.md"]),
        ("[a](page.md#none)", ["page.md#none"]),
        ("[a](#none)", ["#none"]),
        ("# One two\n[a](#one-two) [b](page.md#1-first-thing) [c](https://example.org/x)", []),
        ("`[a](nowhere.md)`\n```\n[b](nowhere.md)\n```", []),
    ],
)
def test_broken_links_are_seen(tmp_path: Path, text: str, broken: list[str]) -> None:
    (tmp_path / "page.md").write_text("## 1. First thing\n")
    here = tmp_path / "here.md"
    here.write_text(text)
    assert broken_links(here, text) == broken


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`bridge explode`", ["explode"]),
        ("`bridge relay --faster`", ["relay --faster"]),
        ("```sh\nbridge config hide   # comment\n```", ["config hide"]),
        ("```sh\nbridge -c a.yaml relay --journal orders\nbridge init --dry-run\n```", []),
        ("`bridge config show [--json]`, `/opt/bin/bridge --log-level debug relay`", []),
        ("`bridge.writer`, the bridge explodes", []),
    ],
)
def test_unknown_commands_are_seen(text: str, unknown: list[str]) -> None:
    assert unknown_commands(bridge, text) == unknown


def test_anchors_are_made_as_on_github() -> None:
    text = "# A, b & `c` (d)\n```\n# not one\n```\n## 1. Größe\n"
    assert headings(text) == {"a-b--c-d", "1-größe"}
