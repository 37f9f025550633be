"""Rules over several keys of a section: all breaches of one section are reported together."""

from collections.abc import Iterable
from typing import Final

from pydantic_core import PydanticCustomError

from bridge.config.problems import KeyPath

__all__ = ["BREACHES", "Breach", "refuse"]

Breach = tuple[KeyPath, str]
"""A key relative to the section, and what is wrong with it; never holds a secret."""

BREACHES: Final = "bridge_breaches"


def refuse(breaches: Iterable[Breach]) -> None:
    """Raise one validation error that carries all `breaches`, if there are any."""
    found = list(breaches)
    if found:
        raise PydanticCustomError(BREACHES, "keys do not fit together", {"breaches": found})
