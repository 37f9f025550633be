"""What the pages of the documentation say that can be checked: links, commands, headings."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

__all__ = [
    "broken_links",
    "code_blocks",
    "headings",
    "markdown_files",
    "numbered_headings",
    "unknown_commands",
]

_FENCE = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_COMMAND = re.compile(r"(?:^|[`/ ])bridge ((?:[^`\n#])*)", re.MULTILINE)


def markdown_files(root: Path) -> list[Path]:
    """All pages, those of tools and environments in hidden folders left out."""
    found = (path for path in root.rglob("*.md") if not _hidden(path.relative_to(root)))
    return sorted(found)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def headings(text: str) -> set[str]:
    """Anchors of a page, as GitHub makes them."""
    return {_anchor(found) for found in _HEADING.findall(_FENCE.sub("", text))}


def numbered_headings(text: str) -> list[str]:
    """Numbers of the second-level headings, in order."""
    return re.findall(r"^## (\d+)\.", text, re.MULTILINE)


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead to no file, or to no heading of it."""
    prose = _CODE.sub("", _FENCE.sub("", text))
    targets = (link for link in _LINK.findall(prose) if "://" not in link)
    return [target for target in targets if not _resolves(page, text, target)]


def _resolves(page: Path, text: str, target: str) -> bool:
    name, _, anchor = target.partition("#")
    path = page.parent / name if name else page
    if not path.exists():
        return False
    if not anchor:
        return True
    return anchor in headings(path.read_text(encoding="utf-8") if name else text)


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def code_blocks(text: str, language: str) -> list[str]:
    """Contents of the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def unknown_commands(root: click.Group, text: str) -> list[str]:
    """Invocations in code spans and shell blocks whose command or option does not exist."""
    shell = code_blocks(text, "sh")
    prose = _FENCE.sub("", text)
    spans = [span.strip("`") for span in _CODE.findall(prose)]
    calls = [call for part in [*shell, *spans] for call in _COMMAND.findall(part)]
    return [call.strip() for call in calls if _unknown(root, call)]


def _unknown(root: click.Group, call: str) -> bool:
    words = iter(shlex.split(re.sub(r"[\[\]]", "", call)))
    command: click.Command = root
    for word in words:
        if word.startswith("-"):
            option = _option(command, word)
            if option is None:
                return True
            if not option.is_flag:
                next(words, None)
        elif isinstance(command, click.Group):
            found = command.commands.get(word)
            if found is None:
                return True
            command = found
    return False


def _option(command: click.Command, word: str) -> click.Option | None:
    name = word.partition("=")[0]
    return next((option for option in _options(command) if name in option.opts), None)


def _options(command: click.Command) -> Iterator[click.Option]:
    return (param for param in command.params if isinstance(param, click.Option))
