"""Stored tags → tags, for the layouts that exist."""

import json
from collections.abc import Callable

__all__ = ["TagReader", "tag_reader"]

TagReader = Callable[[str | None], tuple[str, ...]]

_MAX_CACHED = 10_000


def tag_reader(layout: str) -> TagReader:
    """Reader of a layout's tags: a JSON array (`bridge`), or joined by commas (`actor-ts`)."""
    parse = _array if layout == "bridge" else _joined
    known: dict[str | None, tuple[str, ...]] = {}

    def read(text: str | None) -> tuple[str, ...]:
        tags = known.get(text)
        if tags is None:
            if len(known) >= _MAX_CACHED:
                known.clear()
            tags = known[text] = parse(text)
        return tags

    return read


def _array(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text or "[]"))


def _joined(text: str | None) -> tuple[str, ...]:
    return tuple(tag for tag in (text or "").split(",") if tag)
