"""Counting, by hand."""

import pytest

from bridge.core.rows import RowKey
from bridge.demo.story import Deposit
from bridge.demo.tally import Balance, Tally, differing, fold, tally


def _keys(text: str) -> list[RowKey]:
    return [RowKey(name[0], int(name[1:])) for name in text.split()]


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        ("a1 a2 b1", Tally(3, 0, 0, 0, 0)),
        ("b1 a1 a2", Tally(3, 0, 0, 0, 0)),
        ("a1 b1", Tally(2, 1, 0, 0, 0)),
        ("", Tally(0, 3, 0, 0, 0)),
        ("a1 a1 a2 b1 b1 b1", Tally(3, 0, 3, 0, 0)),
        ("a2 a1 b1", Tally(3, 0, 0, 1, 0)),
        ("a1 a2 a1 b1", Tally(3, 0, 1, 0, 0)),
        ("a1 a2 b1 c1", Tally(3, 0, 0, 0, 1)),
        ("c1", Tally(0, 3, 0, 0, 1)),
    ],
)
def test_arrivals_are_judged_by_the_journal(arrivals: str, expected: Tally) -> None:
    assert tally(_keys("a1 a2 b1"), _keys(arrivals)) == expected
    assert expected.clean == (expected == Tally(3, 0, 0, 0, 0))


def test_balances_are_summed_by_account() -> None:
    deposits = [
        Deposit(5, "a", 1, '{"amount": 7}'),
        Deposit(5, "b", 1, '{"amount": 1}'),
        Deposit(6, "a", 2, '{"amount": 3}'),
    ]
    assert fold(deposits) == {"a": Balance(2, 10), "b": Balance(1, 1)}


def test_accounts_that_differ_are_counted_once_whichever_side_lacks_them() -> None:
    truth = {"a": Balance(1, 1), "b": Balance(1, 1), "c": Balance(1, 1)}
    assert differing(truth, truth) == 0
    assert differing({"a": Balance(1, 1), "b": Balance(1, 2), "d": Balance(1, 1)}, truth) == 3
