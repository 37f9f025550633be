"""The configuration file: YAML 1.2 to plain values, with the line of every key.

The node graph is read instead of ruamel's constructed objects, because it alone keeps lines and
the text of a scalar as it was written.
"""

import re
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bridge.config.problems import KeyPath, Problem

__all__ = ["Source", "parse_value", "read_yaml"]

_TAG: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# librdkafka takes text only; a number that went through Python could come back changed
# ("0123", "1e3"), so what was written is passed on.
_VERBATIM: Final = ("kafka", "properties")


class Source:
    """Values of one source with the origin of each key, and the problems met on the way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[str, object] = {}
        self.origins: dict[KeyPath, str] = {}
        self.problems: list[Problem] = []


def read_yaml(path: Path) -> Source:
    """Read a configuration file; whatever is wrong with it is in the result's problems."""
    source = Source(path.name)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        source.problems.append(Problem(f"cannot read {path}: {_reason(error)}"))
        return source
    _parse_into(source, text)
    return source


def parse_value(text: str) -> object:
    """Read a YAML scalar or a flow collection (JSON included) from an environment variable.

    Raises:
        ValueError: not YAML; the message does not quote the text, which may be a secret.
    """
    source = Source("")
    _parse_into(source, f"value: {text}" if text.strip() else "value: ''")
    if source.problems or set(source.values) != {"value"}:
        raise ValueError("is neither a YAML scalar nor JSON")
    return source.values["value"]


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (byte {error.start})"
    return error.strerror or type(error).__name__


def _parse_into(source: Source, text: str) -> None:
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        origin = None if mark is None else f"{source.name} line {mark.line + 1}"
        source.problems.append(Problem(f"not YAML: {_unquoted(error.problem)}", origin=origin))
        return
    except YAMLError:
        source.problems.append(Problem("not YAML: unreadable character", origin=source.name))
        return
    if root is None:
        return
    if not isinstance(root, MappingNode):
        what = "expected a mapping of keys at the top of the file"
        source.problems.append(Problem(what, origin=source.name))
        return
    source.values = _Reader(source).mapping(root, (), ())


def _unquoted(problem: str | None) -> str:
    """Drop what the parser quotes from the file (an alias may be a password); keep one sign."""
    return re.sub(r"(['\"]).{2,}\1", "…", problem or "syntax error")


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source

    def mapping(
        self, node: MappingNode, path: KeyPath, parents: tuple[Node, ...]
    ) -> dict[str, object]:
        values: dict[str, object] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self._complain("a key must be plain text", path, line)
                continue
            key: str = key_node.value
            if key in lines:
                what = f"duplicate key, first on line {lines[key]}: remove one"
                self._complain(what, (*path, key), line)
                continue
            lines[key] = line
            self._source.origins[*path, key] = f"{self._source.name} line {line}"
            values[key] = self._value(value_node, (*path, key), (*parents, node))
        return values

    def _value(self, node: Node, path: KeyPath, parents: tuple[Node, ...]) -> object:
        line = node.start_mark.line + 1
        if any(node is parent for parent in parents):
            self._complain("an alias points to its own parent", path, line)
            return None
        if not _tag(node).startswith(_TAG):
            self._complain("YAML tags (!…) are not supported", path, line)
            return None
        if isinstance(node, MappingNode):
            return self.mapping(node, path, parents)
        if isinstance(node, SequenceNode):
            return [self._value(item, path, (*parents, node)) for item in node.value]
        if not isinstance(node, ScalarNode):
            raise TypeError(f"unexpected node {type(node).__name__}")
        return _scalar(node, verbatim=path[: len(_VERBATIM)] == _VERBATIM)

    def _complain(self, what: str, path: KeyPath, line: int) -> None:
        self._source.problems.append(Problem(what, path, f"{self._source.name} line {line}"))


def _tag(node: Node) -> str:
    return node.tag or ""


def _scalar(node: ScalarNode, *, verbatim: bool) -> object:
    text: str = node.value
    kind = _tag(node).removeprefix(_TAG)
    if kind == "null":
        return None
    if verbatim:
        return text
    if kind == "bool":
        return text.lower() == "true"
    # Leading zeros, underscores and other bases mean different numbers to different YAML readers,
    # so they stay text, which a numeric key then refuses.
    if kind == "int" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "float" and _FLOAT.fullmatch(text):
        return float(text)
    return text
