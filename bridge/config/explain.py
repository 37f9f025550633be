"""Validation errors in the words of the configuration file."""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bridge.config.paths import fields_at, known_paths
from bridge.config.problems import KeyPath, Problem, dotted, suggestion
from bridge.config.rules import BREACHES

__all__ = ["explain"]

_EXPECTED: Final = {
    "string_type": "text (put numbers, true and null in quotes)",
    "int_type": "a whole number, without quotes or leading zeros",
    "tuple_type": "a list",
    "path_type": "the path of a file",
    "model_type": "a mapping of keys",
    "mapping_type": "a mapping of keys",
    "dict_type": "a mapping of keys",
}


def explain(error: ValidationError, origins: Mapping[KeyPath, str]) -> list[Problem]:
    """Turn each part of `error` into a problem; texts that may be secret are not quoted."""
    return [problem for details in error.errors() for problem in _problems(details, origins)]


def _problems(details: ErrorDetails, origins: Mapping[KeyPath, str]) -> Iterator[Problem]:
    path = tuple(str(part) for part in details["loc"] if part != "[key]")
    if details["type"] == BREACHES:
        for key, what in details["ctx"]["breaches"]:
            yield Problem(what, (*path, *key), _nearest_origin((*path, *key), origins))
    else:
        yield Problem(_what(details, path), path, _nearest_origin(path, origins))


def _nearest_origin(path: KeyPath, origins: Mapping[KeyPath, str]) -> str | None:
    """Return where the key was given, or for one that is absent the section it belongs to."""
    for depth in range(len(path), 0, -1):
        if path[:depth] in origins:
            return origins[path[:depth]]
    return None


def _what(details: ErrorDetails, path: KeyPath) -> str:
    kind, value = details["type"], details["input"]
    context = details.get("ctx", {})
    match kind:
        case "bridge":
            return details["msg"]
        case "missing":
            return "is required"
        case "extra_forbidden":
            return f"unknown key; {_meant(path)}"
        case "too_short":
            return "must not be empty"
        case "greater_than_equal":
            return f"must be at least {context['ge']}, got {value}"
        case "less_than_equal":
            return f"must be at most {context['le']}, got {value}"
        case "literal_error":
            got = value if isinstance(value, str) else _type_name(value)
            return f"expected {context['expected']}, got {got or 'empty text'}"
    expected = _EXPECTED.get(kind)
    return details["msg"] if expected is None else f"expected {expected}, got {_type_name(value)}"


def _meant(path: KeyPath) -> str:
    """Name the key that was meant: the same one elsewhere, else the nearest one here."""
    journal = path[1] if path[0] == "journals" and len(path) > 1 else "NAME"
    same = [dotted(known) for known in known_paths((journal,)) if known[-1] == path[-1]]
    if same:
        return f"did you mean {' or '.join(same)}?"
    return suggestion(path[-1], fields_at(path[:-1]) or {})


def _type_name(value: object) -> str:
    """Name the type of a value, and numbers and booleans themselves."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return "text"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
    return f"a value of type {type(value).__name__}"
