"""Arithmetic on PostgreSQL snapshots: which transactions became visible between two of them.

A snapshot is ``xmin:xmax:xip,…`` as ``pg_current_snapshot()`` prints it: every transaction below
`xmin` has ended, none from `xmax` on had begun when it was taken, and those in `xip` were open.
The next window of the relay is what the new snapshot sees and the old one did not; see
``docs/how-it-works.md``.
"""

from dataclasses import dataclass

__all__ = ["GENESIS", "PgSnapshot", "in_window"]


@dataclass(frozen=True, slots=True)
class PgSnapshot:
    """A parsed ``pg_snapshot``; ids are 64-bit and never wrap."""

    xmin: int
    xmax: int
    xip: frozenset[int]

    def __post_init__(self) -> None:
        """Guard what the window predicate relies on."""
        if not 0 < self.xmin <= self.xmax:
            raise ValueError(f"not a snapshot: xmin {self.xmin}, xmax {self.xmax}")
        if any(not self.xmin <= xid < self.xmax for xid in self.xip):
            raise ValueError(f"not a snapshot: open ids outside [{self.xmin}, {self.xmax})")

    @classmethod
    def parse(cls, text: str) -> "PgSnapshot":
        """Read the text form; ValueError says what is wrong with it."""
        parts = text.split(":")
        if len(parts) != 3:
            raise ValueError(f"not a snapshot: {text!r}")
        xip = frozenset(int(xid) for xid in parts[2].split(",") if xid)
        return cls(int(parts[0]), int(parts[1]), xip)

    def __str__(self) -> str:
        return f"{self.xmin}:{self.xmax}:{','.join(map(str, sorted(self.xip)))}"

    def sees(self, txid: int) -> bool:
        """True when the end of transaction `txid` is behind this snapshot."""
        return txid < self.xmax and txid not in self.xip

    def follows(self, older: "PgSnapshot") -> bool:
        """True when nothing that `older` sees is unseen here, as time only adds."""
        return self.xmin >= older.xmin and self.xmax >= older.xmax and self._opens_nothing(older)

    def _opens_nothing(self, older: "PgSnapshot") -> bool:
        return all(not older.sees(xid) for xid in self.xip)


GENESIS = PgSnapshot(1, 1, frozenset())
"""Sees nothing: where a relay starts that wants every row."""


def in_window(txid: int, old: PgSnapshot, new: PgSnapshot) -> bool:
    """True when `txid` became visible after `old` and not after `new`.

    The SQL predicate of the relay is this line; the property tests compare both.
    """
    return (txid >= old.xmax or txid in old.xip) and new.sees(txid)
