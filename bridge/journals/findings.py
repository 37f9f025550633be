"""What an inspection can say."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Inspection", "Severity", "error", "warning"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it must be (error: the relay must not start) or that bears a risk.

    Attributes:
        what: what was found and where.
        hint: what to do about it.
    """

    severity: Severity
    what: str
    hint: str


@dataclass(frozen=True)
class Inspection:
    """All findings about one journal, in the order in which they should be looked at."""

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with which the relay must not start."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that only bear a risk."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")


def error(what: str, hint: str) -> Finding:
    """A finding with which the relay must not start."""
    return Finding("error", what, hint)


def warning(what: str, hint: str) -> Finding:
    """A finding that bears a risk."""
    return Finding("warning", what, hint)
