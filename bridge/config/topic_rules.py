"""Which topic names may be configured: legal, readable back, never internal, never shared."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from bridge.config.rules import Breach

if TYPE_CHECKING:
    from bridge.config.models import Topics

__all__ = ["map_problems", "name_problems", "shared_problems", "template_problems"]

TOPIC_LENGTH_MAX: Final = 249
# What is left of a topic name must hold the digest that stands for an over-long tag.
TEMPLATE_LENGTH_MAX: Final = 150

_PLACEHOLDERS: Final = ("{app}", "{journal}", "{tag}")
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_LEGAL: Final = re.compile(r"[A-Za-z0-9._-]*")


def template_problems(template: str) -> Iterator[Breach]:
    """Yield what is wrong with a name template, whatever app and journals are."""
    found = _PLACEHOLDER.findall(template)
    for unknown in sorted(set(found) - set(_PLACEHOLDERS)):
        yield (), f"unknown placeholder {unknown}; known are {', '.join(_PLACEHOLDERS)}"
    if found.count("{tag}") != 1:
        yield (), "must hold {tag} exactly once"
    literals = _PLACEHOLDER.split(template)
    if not all(_LEGAL.fullmatch(part) for part in literals):
        yield (), "may hold only letters A-Z a-z, digits, '.', '_' and '-' besides placeholders"
    if any("--" in part for part in literals):
        yield (), "may not hold '--', which marks internal topics and escapes"
    if template.startswith("__"):
        yield (), "may not begin with '__', which marks the brokers' own topics"


def map_problems(mapping: Mapping[str, str]) -> Iterator[Breach]:
    """Yield what is wrong with tag → topic name, whatever the app is."""
    if "" in mapping:
        yield (), "holds an empty tag; tags are never empty"
    for tag, topic in mapping.items():
        yield from (((tag,), what) for _, what in name_problems(topic))


def name_problems(topic: str) -> Iterator[Breach]:
    """Yield what is wrong with the name of one topic."""
    if topic in ("", ".", "..") or not _LEGAL.fullmatch(topic):
        yield (), "is no topic name: letters A-Z a-z, digits, '.', '_' and '-', not '.' or '..'"
    if len(topic) > TOPIC_LENGTH_MAX:
        yield (), f"is longer than {TOPIC_LENGTH_MAX} characters"
    if topic.startswith("__"):
        yield (), "may not begin with '__', which marks the brokers' own topics"


def shared_problems(topics: "Topics", app: str, journals: Sequence[str]) -> Iterator[Breach]:
    """Yield what is wrong with the names, given the app and all journals."""
    yield from _internal_problems(topics, app)
    longest = max(journals, key=len)
    size = sum(map(len, _around_tag(topics.name, app, longest)))
    if size > TEMPLATE_LENGTH_MAX:
        yield ("name",), f"gives {size} characters without the tag, more than {TEMPLATE_LENGTH_MAX}"
    if len(journals) == 1:
        return
    merging = "with several journals it would merge them into one topic: remove it"
    if topics.map:
        yield ("map",), merging
    if topics.all is not None:
        yield ("all",), merging
    if "{journal}" not in topics.name:
        yield ("name",), "must hold {journal}, because there are several journals"
        return
    for one, other in combinations(journals, 2):
        if _can_meet(_around_tag(topics.name, app, one), _around_tag(topics.name, app, other)):
            yield (
                ("name",),
                f"journals {one} and {other} could meet in one topic: "
                'set {journal} off with "." or "_"',
            )


def _internal_problems(topics: "Topics", app: str) -> Iterator[Breach]:
    internal = f"may not begin with {app}--, which marks internal topics"
    for tag, topic in topics.map.items():
        if topic.startswith(f"{app}--"):
            yield ("map", tag), internal
    if topics.all is not None and topics.all.startswith(f"{app}--"):
        yield ("all",), internal


def _around_tag(template: str, app: str, journal: str) -> tuple[str, str]:
    before, _, after = (
        template.replace("{app}", app).replace("{journal}", journal).partition("{tag}")
    )
    return before, after


def _can_meet(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """True when some tag of one journal gives the same name as some tag of the other."""
    prefixes = one[0].startswith(other[0]) or other[0].startswith(one[0])
    suffixes = one[1].endswith(other[1]) or other[1].endswith(one[1])
    return prefixes and suffixes
