"""The comparison of sorted streams, case by case."""

import pytest

from bridge.verify.compare import Expected, Found, Outcome, inversions, match
from bridge.verify.source import RowState

EXPECTED, PENDING, BEFORE = RowState.EXPECTED, RowState.PENDING, RowState.BEFORE_START


def want(seq: int, state: RowState = EXPECTED, gone: int = 0, topic: int = 0) -> Expected:
    return Expected(topic, b"a", seq, state, gone)


def have(seq: int, offset: int = 0, partition: int = 0, late: int = 0, topic: int = 0) -> Found:
    return Found(topic, b"a", seq, 0, partition, offset, late)


@pytest.mark.parametrize(
    ("expected", "found", "outcomes"),
    [
        ([], [], []),
        ([want(1)], [have(1)], []),
        ([want(1), want(2)], [have(2)], [Outcome.MISSING]),
        ([want(1, PENDING)], [], [Outcome.NOT_PUBLISHED_YET]),
        ([want(1, PENDING)], [have(1)], []),
        ([want(1, BEFORE)], [], [Outcome.BEFORE_START]),
        ([want(1, gone=1)], [have(1)], [Outcome.GONE]),
        ([want(1, gone=1)], [], [Outcome.MISSING]),
        ([want(1)], [have(1), have(1, 1), have(1, 2)], [Outcome.DUPLICATED] * 2),
        ([want(1, gone=1)], [have(1), have(1, 1)], [Outcome.GONE, Outcome.DUPLICATED]),
        ([], [have(1)], [Outcome.UNEXPLAINED]),
        ([want(2)], [have(1), have(2), have(3)], [Outcome.UNEXPLAINED] * 2),
        ([want(1)], [have(1, topic=1)], [Outcome.MISSING, Outcome.UNEXPLAINED]),
    ],
)
def test_outcomes(expected: list[Expected], found: list[Found], outcomes: list[Outcome]) -> None:
    assert [outcome for outcome, _ in match(expected, found)] == outcomes


@pytest.mark.parametrize(
    ("found", "offsets"),
    [
        ([have(1, 0), have(2, 1), have(9, 2)], []),
        ([have(2, 0), have(1, 1), have(3, 2)], [1]),
        ([have(3, 0), have(1, 1), have(2, 2)], [1, 2]),
        ([have(2, 0), have(1, 1, late=1), have(3, 2)], []),
        ([have(1, 0), have(2, 5, partition=1)], [5]),
        ([have(2, 0), have(1, 0, topic=1)], []),
    ],
)
def test_inversions(found: list[Found], offsets: list[int]) -> None:
    assert [record.offset for record, _ in inversions(found)] == offsets
