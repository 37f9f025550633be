"""Positions as people read them."""

import pytest

from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS, PgSnapshot

_MANY = PgSnapshot(5, 5_000, frozenset(range(5, 4_000)))


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (SequencePosition(17), "behind number 17"),
        (HistoryPosition(False), "history by time, at its beginning"),
        (HistoryPosition(True, ("p\x1b", 2)), "history by entity, behind ('p\\x1b', 2)"),
        (WindowPosition(PgSnapshot(3, 9, frozenset({4}))), "snapshot 3:9:4"),
        (WindowPosition(_MANY), "snapshot 5:5000:5,6,7,… 3992 more"),
        (
            WindowPosition(GENESIS, PgSnapshot(3, 9, frozenset()), (7, "p", 1)),
            "window 1:1: to 3:9:, behind (7, 'p', 1)",
        ),
        (WindowPosition(GENESIS, GENESIS), "window 1:1: to 1:1:, at its beginning"),
    ],
)
def test_text(position: Position, text: str) -> None:
    assert str(position) == text
