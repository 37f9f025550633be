"""What a demonstration has come to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.demo.tally import Balance, Tally, differing
from bridge.demo.usual_way import Missed

__all__ = ["Progress", "Result", "Side"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a demonstration is.

    Attributes:
        seconds: since its beginning.
        appended: events committed.
        usual: events that the usual way has delivered.
        passed_over: events that it will never deliver.
        applied: events that bridge's projection has applied.
    """

    seconds: float
    appended: int
    usual: int
    passed_over: int
    applied: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two ways: what arrived, and the read model made of it."""

    tally: Tally
    balances: Mapping[str, Balance]


@dataclass(frozen=True, slots=True)
class Result:
    """Both ways beside the journal.

    Attributes:
        appended: events in the journal.
        seconds: how long the writers took.
        truth: the fold of the journal.
        verified: whether `verify` has found journal and topics in agreement.
        example: an event that the usual way has lost, if it has.
    """

    appended: int
    seconds: float
    truth: Mapping[str, Balance]
    usual: Side
    bridge: Side
    verified: bool
    example: Missed | None

    @property
    def clean(self) -> bool:
        """Whether bridge has kept its promise."""
        return self.bridge.tally.clean and self.verified and not self.differing(self.bridge)

    def differing(self, side: Side) -> int:
        """Accounts that a side's read model does not have as the journal says."""
        return differing(side.balances, self.truth)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "appended": self.appended,
            "seconds": round(self.seconds, 3),
            "usual_way": _counts(self.usual.tally),
            "bridge": {**_counts(self.bridge.tally), "verified": self.verified},
            "read_model": {
                "journal": _sums(self.truth),
                "usual_way": {
                    **_sums(self.usual.balances),
                    "differing": self.differing(self.usual),
                },
                "bridge": {**_sums(self.bridge.balances), "differing": self.differing(self.bridge)},
            },
            "clean": self.clean,
        }


def _counts(tally: Tally) -> dict[str, int]:
    return {
        "delivered": tally.delivered,
        "lost": tally.lost,
        "duplicated": tally.duplicated,
        "inverted": tally.inverted,
        "unexpected": tally.unexpected,
    }


def _sums(balances: Mapping[str, Balance]) -> dict[str, int]:
    return {
        "accounts": len(balances),
        "deposits": sum(balance.deposits for balance in balances.values()),
        "total": sum(balance.total for balance in balances.values()),
    }
