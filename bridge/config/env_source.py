"""Overrides from environment variables: ``BRIDGE_SECTION__KEY``."""

import re
from collections.abc import Mapping
from typing import Final

from bridge.config.paths import fields_at, is_text, known_paths, member_of
from bridge.config.problems import KeyPath, Problem, suggestion
from bridge.config.yaml_source import Source, parse_value

__all__ = ["PREFIX", "read_environment", "variable_name"]

PREFIX: Final = "BRIDGE_"
_SEPARATOR: Final = "__"
_RESERVED: Final = ("BRIDGE_CONFIG", "BRIDGE_CACHE")
_RESERVED_PREFIX: Final = "BRIDGE_TEST_"
# Kubernetes sets these in every pod of a namespace with a Service whose name begins with "bridge".
_SERVICE_LINK: Final = re.compile(
    r"BRIDGE_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
# The only librdkafka property that may be given and has an underscore in its name.
_UNDERSCORED_PROPERTY: Final = "log_level"


def read_environment(environ: Mapping[str, str], journals: tuple[str, ...]) -> Source:
    """Read all variables with our prefix, the more specific ones last.

    Args:
        environ: the environment.
        journals: names of the journals in the file, for nearest matches.
    """
    source = Source("environment")
    seen: dict[KeyPath, str] = {}
    for name in sorted(filter(_is_ours, environ), key=lambda name: (name.count(_SEPARATOR), name)):
        path = _path_of(name)
        if path is None:
            known = map(variable_name, known_paths(journals))
            what = f"unknown environment variable; {suggestion(name.upper(), known)}"
            source.problems.append(Problem(what, origin=f"environment {name}"))
        elif path in seen:
            what = f"is also given by {seen[path]}: remove one"
            source.problems.append(Problem(what, path, f"environment {name}"))
        else:
            seen[path] = name
            _take(source, path, name, environ[name])
    return source


def variable_name(path: KeyPath) -> str:
    """Return the variable that overrides the key at `path`."""
    return PREFIX + _SEPARATOR.join(re.sub(r"[.\-]", "_", part).upper() for part in path)


def _is_ours(name: str) -> bool:
    upper = name.upper()
    if not upper.startswith(PREFIX) or upper in _RESERVED or upper.startswith(_RESERVED_PREFIX):
        return False
    return _SEPARATOR in name or not _SERVICE_LINK.fullmatch(upper)


def _path_of(name: str) -> KeyPath | None:
    path: KeyPath = ()
    for segment in name[len(PREFIX) :].lower().split(_SEPARATOR):
        key = _key(path, segment)
        if key is None:
            return None
        path = (*path, key)
    return path


def _key(path: KeyPath, segment: str) -> str | None:
    fields = fields_at(path)
    if fields is not None:
        return segment if segment in fields else None
    if not segment:
        return None
    # Variable names can hold neither "-" nor ".", and these names can hold no "_".
    if path == ("journals",):
        return segment.replace("_", "-")
    if path == ("kafka", "properties"):
        return segment if segment == _UNDERSCORED_PROPERTY else segment.replace("_", ".")
    return None  # a tag is case-sensitive: topics.map can only be given as a whole


def _take(source: Source, path: KeyPath, name: str, text: str) -> None:
    origin = f"environment {name}"
    try:
        value = _value(path, text)
    except ValueError as error:
        source.problems.append(Problem(str(error), path, origin))
        return
    here = source.values
    for depth, key in enumerate(path[:-1], 1):
        source.origins.setdefault(path[:depth], origin)
        below = here.get(key)
        if not isinstance(below, dict):
            below = here[key] = {}
        here = below
    here[path[-1]] = value
    _note_origins(source, path, value, origin)


def _value(path: KeyPath, text: str) -> object:
    kind: object = None
    for depth, key in enumerate(path):
        kind = (fields_at(()) or {}).get(key) if depth == 0 else member_of(kind, key)
    if not is_text(kind):
        return parse_value(text)
    return None if text == "null" and type(None) in getattr(kind, "__args__", ()) else text


def _note_origins(source: Source, path: KeyPath, value: object, origin: str) -> None:
    source.origins[path] = origin
    if isinstance(value, dict):
        for key, below in value.items():
            _note_origins(source, (*path, key), below, origin)
