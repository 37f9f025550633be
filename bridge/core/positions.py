"""Positions: places in a journal, one type per way of ordering it."""

from dataclasses import dataclass, replace

from bridge.core.snapshot import PgSnapshot

__all__ = ["HistoryPosition", "Place", "Position", "SequencePosition", "WindowPosition"]

Place = tuple[int | str, ...]
"""Sort key of a row within its window or its history."""

_SHOWN_XIDS = 3
"""Open transactions that a position names when it is printed; there can be thousands."""


@dataclass(frozen=True, slots=True)
class HistoryPosition:
    """Inside the rows from before the installation, which have no commit order.

    Attributes:
        by_entity: False: ordered by (event time, persistence id, sequence number). True: entity by
            entity, chosen when event times go backwards within an entity. Chosen once, kept until
            the history is done: a page is resumed by the same order that it was cut in.
        after: place of the last row that was taken; None at the beginning.
    """

    by_entity: bool
    after: Place | None = None

    def behind(self, place: Place) -> "HistoryPosition":
        """Position behind the row at `place`."""
        return replace(self, after=place)

    def __str__(self) -> str:
        order = "by entity" if self.by_entity else "by time"
        return f"history {order}, {_behind(self.after) or 'at its beginning'}"


@dataclass(frozen=True, slots=True)
class WindowPosition:
    """Between two snapshots of a journal.

    Attributes:
        old: everything that this snapshot sees has been taken.
        new: the window in progress ends here; None between windows.
        after: place of the last row taken of the window in progress; None at its beginning.
    """

    old: PgSnapshot
    new: PgSnapshot | None = None
    after: Place | None = None

    def __post_init__(self) -> None:
        """A window never runs backwards in time."""
        if self.new is None and self.after is not None:
            raise ValueError("a place inside a window needs the window's end")
        if self.new is not None and not self.new.follows(self.old):
            raise ValueError(f"snapshot {self.new} does not follow {self.old}")

    def behind(self, place: Place) -> "WindowPosition":
        """Position behind the row at `place` of the window in progress."""
        return replace(self, after=place)

    def __str__(self) -> str:
        if self.new is None:
            return f"snapshot {_short(self.old)}"
        window = f"window {_short(self.old)} to {_short(self.new)}"
        return f"{window}, {_behind(self.after) or 'at its beginning'}"


@dataclass(frozen=True, slots=True)
class SequencePosition:
    """Behind the row with this number in a journal whose insertion order is its commit order."""

    after: int

    def behind(self, place: Place) -> "SequencePosition":
        """Position behind the row at `place`, a tuple of its number."""
        return SequencePosition(int(place[0]))

    def __str__(self) -> str:
        return f"behind number {self.after}"


Position = HistoryPosition | WindowPosition | SequencePosition


def _behind(place: Place | None) -> str:
    return "" if place is None else f"behind ({', '.join(map(repr, place))})"


def _short(snapshot: PgSnapshot) -> str:
    """The snapshot's text, its open transactions abbreviated."""
    shown = sorted(snapshot.xip)[:_SHOWN_XIDS]
    more = len(snapshot.xip) - len(shown)
    open_ids = ",".join(map(str, shown)) + (f",… {more} more" if more else "")
    return f"{snapshot.xmin}:{snapshot.xmax}:{open_ids}"
