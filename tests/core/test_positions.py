"""Positions, cursors and pauses: the small values everything else rests on."""

import pytest

from bridge.core.backoff import Backoff
from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.positions import HistoryPosition, Place, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS, PgSnapshot

_NEW = PgSnapshot(3, 9, frozenset({4}))


@pytest.mark.parametrize(
    ("position", "place", "behind"),
    [
        (HistoryPosition(True), (5, "a", 1), HistoryPosition(True, (5, "a", 1))),
        (HistoryPosition(False, (1,)), (5,), HistoryPosition(False, (5,))),
        (WindowPosition(GENESIS, _NEW), (7, "a"), WindowPosition(GENESIS, _NEW, (7, "a"))),
        (SequencePosition(3), (8,), SequencePosition(8)),
    ],
)
def test_behind_a_row_only_the_place_changes(
    position: Position, place: Place, behind: Position
) -> None:
    assert position.behind(place) == behind


@pytest.mark.parametrize(
    ("failures", "delay_ms"),
    [(1, 100.0), (2, 200.0), (3, 400.0), (6, 3200.0), (7, 5000.0), (100_000, 5000.0)],
)
def test_pauses_double_up_to_their_limit(failures: int, delay_ms: float) -> None:
    assert Backoff(100, 5000).delay_ms(failures) == delay_ms


def test_a_moved_cursor_keeps_all_but_position_count_and_time() -> None:
    origin = SequencePosition(2)
    identity = JournalIdentity("system", 1, "witness")
    topics = (TopicIdentity("shop.a", "id", 6),)
    cursor = Cursor("shop", "orders", 1, 2, "me", identity, origin, origin, topics, 10, 1000)
    assert cursor.moved(SequencePosition(9), 5, 2000) == Cursor(
        "shop", "orders", 1, 2, "me", identity, origin, SequencePosition(9), topics, 15, 2000
    )
