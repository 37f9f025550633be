"""What happens in the demonstration: deposits on accounts."""

import json
from typing import NamedTuple

from bridge.core.rows import RowKey

__all__ = ["ACCOUNTS", "TAG", "WRITERS", "Deposit", "Work", "account", "work_of"]

TAG = "accounts"

WRITERS = 8
"""Threads that append, each with a connection and accounts of its own."""

ACCOUNTS = 40

_SLOW_ONE_IN = 25
_QUICK_S = (0.002, 0.010)
_SLOW_S = (0.150, 0.300)


class Deposit(NamedTuple):
    """An event as it is stored.

    Attributes:
        timestamp_ms: the event's own time, taken by the application.
    """

    timestamp_ms: int
    persistence_id: str
    sequence_nr: int
    payload: str

    @property
    def key(self) -> RowKey:
        """Its identity."""
        return RowKey(self.persistence_id, self.sequence_nr)

    @property
    def amount(self) -> int:
        """What is paid in."""
        return int(json.loads(self.payload)["amount"])


class Work(NamedTuple):
    """How long an application works on one event, in seconds: at least, at most."""

    least_s: float
    most_s: float


def account(number: int) -> str:
    """Persistence id of an account."""
    return f"account-{number:02}"


def work_of(event: int) -> Work:
    """How long the application works on its event of this number: now and then much longer."""
    return Work(*(_SLOW_S if event % _SLOW_ONE_IN == 0 else _QUICK_S))
