"""What is wrong with a configuration: collected first, then reported together."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bridge.errors import ConfigError

__all__ = ["KeyPath", "Problem", "config_error", "dotted", "suggestion"]

KeyPath = tuple[str, ...]

_HINT: Final = "docs/configuration.md lists every key with its meaning and bounds"
_SHOWN_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct.

    Attributes:
        what: what is wrong and what is expected; never holds the value of a secret.
        path: the key concerned; empty if it concerns the whole file.
        origin: where the value came from ("bridge.yaml line 3", "environment BRIDGE_APP").
    """

    what: str
    path: KeyPath = ()
    origin: str | None = None

    def __str__(self) -> str:
        where = " ".join(
            part for part in (dotted(self.path), self.origin and f"({self.origin})") if part
        )
        return f"{where}: {self.what}" if where else self.what


def dotted(path: Sequence[str]) -> str:
    """Write a key path as users know it: ``journals.orders.url``."""
    return ".".join(path)


def config_error(problems: Sequence[Problem]) -> ConfigError:
    """Make one error of all `problems`."""
    if len(problems) == 1:
        return ConfigError(f"configuration: {problems[0]}", hint=_HINT)
    lines = "".join(f"\n  - {problem}" for problem in problems)
    return ConfigError(f"the configuration has {len(problems)} problems:{lines}", hint=_HINT)


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """Name the candidate that `word` was probably meant to be, else all of them if few."""
    known = sorted(set(candidates))
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    if not known or len(known) > _SHOWN_CANDIDATES:
        return "no known name is near"
    return f"known here: {', '.join(known)}"
