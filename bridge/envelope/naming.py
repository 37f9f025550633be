"""Tag → topic name: injective, legal for a broker, and never the name of an internal topic.

Legal bytes stay; every other byte of the tag's UTF-8 becomes ``--hh``. A ``-`` stays only where it
cannot be taken for the beginning of an escape, so that a name can be read back in one way only.
"""

import hashlib
from fnmatch import fnmatchcase

__all__ = ["TopicNames", "broker_form", "escape_tag"]

MAX_NAME_LENGTH = 249
"""Longest topic name a broker accepts, in characters."""

_LEGAL = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_DASH = ord("-")
_HASH_MARK = "--x"  # not the beginning of an escape: x is no hexadecimal digit


def escape_tag(tag: str) -> str:
    """Legal form of `tag`; different tags give different forms, case is kept."""
    if tag in ("", ".", ".."):  # nothing else is illegal only as a whole
        return "--" + "".join("2e" for _ in tag)
    raw = tag.encode("utf-8", "surrogatepass")
    last = len(raw) - 1
    return "".join(
        chr(byte)
        if byte in _LEGAL and (byte != _DASH or _plain_dash(raw, i, last))
        else f"--{byte:02x}"
        for i, byte in enumerate(raw)
    )


def _plain_dash(raw: bytes, i: int, last: int) -> bool:
    """True for a dash between two legal bytes that are no dashes: it cannot join an escape."""
    inside = 0 < i < last
    return inside and all(b in _LEGAL and b != _DASH for b in (raw[i - 1], raw[i + 1]))


def broker_form(name: str) -> str:
    """What a broker compares to find colliding names: its metrics cannot tell ``.`` from ``_``."""
    return name.replace(".", "_")


class TopicNames:
    """Which topics a row's tags go to, by template, include, exclude and map.

    Args:
        template: topic name with ``{tag}``, possibly ``{app}`` and ``{journal}``.
        include: globs of tags that get a topic.
        exclude: globs of tags that do not, stronger than `include`.
        mapping: tag → topic name, stronger than the template.
        everything: name of a topic that gets every row, or None.
    """

    def __init__(
        self,
        *,
        app: str,
        journal: str,
        template: str,
        include: tuple[str, ...] = ("*",),
        exclude: tuple[str, ...] = (),
        mapping: dict[str, str] | None = None,
        everything: str | None = None,
    ) -> None:
        self._before, _, self._after = (
            template.replace("{app}", app).replace("{journal}", journal).partition("{tag}")
        )
        self._include, self._exclude = include, exclude
        self._mapping = dict(mapping or {})
        self._everything = everything
        self._cache: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of_tags(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Topics of a row with these tags, each once, in tag order, the complete topic last."""
        names = self._cache.get(tags)
        if names is None:
            if len(self._cache) >= 10_000:  # tags may be without bound; the cache may not
                self._cache.clear()
            names = self._cache[tags] = self._resolve(tags)
        return names

    def of_tag(self, tag: str) -> str | None:
        """Topic of one tag, None when it is not relayed."""
        if not any(fnmatchcase(tag, glob) for glob in self._include):
            return None
        if any(fnmatchcase(tag, glob) for glob in self._exclude):
            return None
        return self._mapping.get(tag) or self._from_template(tag)

    def may_be_tag_topic(self, name: str) -> bool:
        """True when a topic of this name is, or could be, written by this journal's relay."""
        if name in self._mapping.values() or name == self._everything:
            return True
        inner = len(name) >= len(self._before) + len(self._after)
        return inner and name.startswith(self._before) and name.endswith(self._after)

    def _resolve(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        names = {name: None for tag in tags if (name := self.of_tag(tag)) is not None}
        if self._everything is not None:
            names[self._everything] = None
        return tuple(names)

    def _from_template(self, tag: str) -> str:
        name = self._before + escape_tag(tag) + self._after
        if len(name) <= MAX_NAME_LENGTH:
            return name
        digest = hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        kept = MAX_NAME_LENGTH - len(self._before) - len(self._after) - len(_HASH_MARK) - 40
        return self._before + escape_tag(tag)[:kept] + _HASH_MARK + digest + self._after
