"""Errors by what the caller must do about them.

Every error says what happened, where, and what to do next. Its class decides the exit code of a
command, so that a supervisor can tell "restart me" from "a human must look".
"""

__all__ = [
    "BridgeError",
    "ConfigError",
    "FencedError",
    "OperatorError",
    "SetupError",
    "UnavailableError",
]


class BridgeError(Exception):
    """Base of all errors of this package.

    Args:
        what: what happened and where, in one sentence.
        hint: what to do next; shown on its own line.
    """

    exit_code = 70

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return self.what if self.hint is None else f"{self.what}\n  → {self.hint}"


class ConfigError(BridgeError):
    """The configuration is wrong: fix it and start again."""

    exit_code = 2


class SetupError(BridgeError):
    """A server answers, but is not as it must be (missing table, right, feature): fix it there."""

    exit_code = 3


class UnavailableError(BridgeError):
    """A server cannot be reached or cannot answer now: trying again later may succeed."""

    exit_code = 4


class FencedError(BridgeError):
    """Another relay has taken over: stand down, do not restart by yourself."""

    exit_code = 5


class OperatorError(BridgeError):
    """Going on could lose, double or reorder events: a human has to decide."""

    exit_code = 6
