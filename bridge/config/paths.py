"""The keys that exist, walked over the models: for environment names and nearest matches."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from bridge.config.models import Config
from bridge.config.problems import KeyPath

__all__ = ["fields_at", "is_text", "known_paths", "member_of"]

Annotation = object
ROOT: Annotation = Config


def fields_at(path: KeyPath) -> Mapping[str, Annotation] | None:
    """Return name → type of the keys below `path`; None where any key, or none, may be."""
    here: Annotation = ROOT
    for part in path:
        here = member_of(here, part)
    return _fields(here)


def member_of(annotation: Annotation, key: str) -> Annotation:
    """Return the type of `key` in a section or a mapping of that type, None if it has no such."""
    fields = _fields(annotation)
    if fields is not None:
        return fields.get(key)
    for member in _members(annotation):
        if get_origin(member) is Mapping:
            return get_args(member)[1]
    return None


def is_text(annotation: Annotation) -> bool:
    """True when every value of that type is written as text (None aside)."""
    return all(_text_member(member) for member in _members(annotation))


def known_paths(journals: tuple[str, ...]) -> Iterator[KeyPath]:
    """Yield every key that has a fixed name, those of a journal once for each of `journals`."""
    yield from _below(ROOT, (), journals)


def _below(annotation: Annotation, path: KeyPath, journals: tuple[str, ...]) -> Iterator[KeyPath]:
    fields = _fields(annotation)
    if fields is None and path == ("journals",):
        for name in journals:
            yield from _below(member_of(annotation, name), (*path, name), journals)
        return
    for name, kind in (fields or {}).items():
        yield (*path, name)
        yield from _below(kind, (*path, name), journals)


def _fields(annotation: Annotation) -> dict[str, Annotation] | None:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            return {
                field.alias or name: field.annotation for name, field in member.model_fields.items()
            }
    return None


def _members(annotation: Annotation) -> Iterator[Annotation]:
    """Take unions and annotations apart."""
    if hasattr(annotation, "__metadata__"):
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _text_member(member: Annotation) -> bool:
    if get_origin(member) is Literal:
        return all(isinstance(value, str) for value in get_args(member))
    return member in (str, SecretStr, Path, type(None))
