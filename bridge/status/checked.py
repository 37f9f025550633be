"""What a check says: one line each, errors included, so that one failure hides no other."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bridge.errors import BridgeError, SetupError, UnavailableError
from bridge.journals.findings import Finding
from bridge.status.text import printable

__all__ = [
    "Checked",
    "checked_finding",
    "checks_json",
    "checks_text",
    "exit_code",
    "guarded",
    "trouble",
]

Level = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True)
class Checked:
    """One thing that was looked at.

    Attributes:
        level: ``note``: something that a check cannot find out.
        about: ``configuration``, ``kafka`` or ``journal NAME``.
        hint: what to do about a warning or an error.
        unreachable: an error because a server cannot be asked, not because something is wrong.
    """

    level: Level
    about: str
    what: str
    hint: str | None = None
    unreachable: bool = False


def checked_finding(about: str, finding: Finding) -> Checked:
    """A finding of a journal's inspection."""
    return Checked(finding.severity, about, finding.what, finding.hint)


def trouble(about: str, error: BridgeError) -> Checked:
    """An error that ended a check."""
    unreachable = isinstance(error, UnavailableError)
    return Checked("error", about, error.what, error.hint, unreachable)


def guarded(about: str, checks: Iterable[Checked]) -> Iterator[Checked]:
    """The checks; an error that they raise becomes the last of them."""
    try:
        yield from checks
    except BridgeError as e:
        yield trouble(about, e)


def exit_code(checks: Iterable[Checked]) -> int:
    """0 without errors, 4 when a server could not be asked, 3 when something is wrong."""
    errors = [check for check in checks if check.level == "error"]
    if any(not check.unreachable for check in errors):
        return SetupError.exit_code
    return UnavailableError.exit_code if errors else 0


def checks_json(checks: Iterable[Checked]) -> list[dict[str, Any]]:
    """All checks with stable keys."""
    return [{"level": c.level, "about": c.about, "what": c.what, "hint": c.hint} for c in checks]


def checks_text(check: Checked) -> str:
    """One check: its level, what was found, and on a line of its own what to do."""
    hint = "" if check.hint is None else f"\n         → {printable(check.hint)}"
    return f"{check.level:8} {check.about}: {printable(check.what)}{hint}"
