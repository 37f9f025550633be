"""The effective configuration as text, without secrets, each value with its origin."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Final

from pydantic import BaseModel, SecretStr

from bridge.config.models import Config
from bridge.config.problems import KeyPath
from bridge.redact import MASK, is_secret_name, redact

__all__ = ["ShownValue", "as_text", "shown_values"]

_DEFAULT: Final = "default"
_INDENT: Final = "  "
_ORIGIN_COLUMN: Final = 48


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One value of the configuration, fit to be shown to anybody.

    Attributes:
        path: the key.
        value: as JSON would hold it, secrets masked.
        origin: "default", "bridge.yaml line 3" or "environment BRIDGE_APP".
    """

    path: KeyPath
    value: object
    origin: str


def shown_values(config: Config) -> list[ShownValue]:
    """List every value of `config` in the order of its keys."""
    return [
        ShownValue(path, value, config.origins.get(path, _DEFAULT))
        for path, value in _leaves(config, ())
    ]


def as_text(values: Sequence[ShownValue]) -> str:
    """Write `values` as YAML with the origins as comments."""
    lines: list[str] = []
    last: KeyPath = ()
    for shown in values:
        lines += _headings(last, shown.path[:-1])
        indent = _INDENT * (len(shown.path) - 1)
        text = f"{indent}{_key(shown.path[-1])}: {dumps(shown.value, ensure_ascii=False)}"
        lines.append(f"{text:<{_ORIGIN_COLUMN}}  # {shown.origin}")
        last = shown.path[:-1]
    return "\n".join(lines)


def _headings(last: KeyPath, section: KeyPath) -> Iterator[str]:
    for depth in range(len(section)):
        if section[: depth + 1] != last[: depth + 1]:
            yield f"{_INDENT * depth}{_key(section[depth])}:"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace(".", "").isalnum() else dumps(name)


def _leaves(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    match value:
        case BaseModel():
            for name, field in type(value).model_fields.items():
                yield from _leaves(getattr(value, name), (*path, field.alias or name))
        case Mapping() if value:
            for key, below in value.items():
                yield from _leaves(below, (*path, key))
        case _:
            yield path, _plain(value, path)


def _plain(value: object, path: KeyPath) -> object:
    match value:
        case None | bool() | int():
            return value
        case tuple():
            return [redact(str(item)) for item in value]
        case Mapping():
            return {}
        case SecretStr():
            return redact(value.get_secret_value())
        case _:
            return MASK if is_secret_name(path[-1]) else redact(str(value))
