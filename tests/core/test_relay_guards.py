"""What the relay does not publish: duplicates, inversions, rows that cannot be sent."""

from bridge.core.effects import (
    Publish,
    ReadPage,
    Verdict,
)
from bridge.core.rows import RowKey
from bridge.errors import OperatorError
from tests.core.relay_desk import Desk, at, committed, failed, page, row


def test_a_duplicate_is_dropped_also_one_from_before_the_start() -> None:
    desk = Desk().start(committed(2), recent=[RowKey("e", 1), RowKey("e", 2)])
    desk.read(page(row(3, nr=2), row(4, nr=3), row(5, nr=3), end=6))
    desk.expect(ReadPage)
    desk.publish()
    assert desk.sent == ["e/3"]
    assert desk.machine.intake.duplicates_dropped == 2
    assert desk.machine.cursor is not None
    assert desk.machine.cursor.position == at(6)


def test_rows_dropped_with_a_failed_transaction_do_not_count_as_published() -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2)))
    desk.expect(ReadPage)
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.start(committed(0, owner="me"))
    desk.read(page(row(1), row(2)))
    desk.expect(ReadPage)
    desk.publish()
    assert desk.sent == ["e/1", "e/2"]
    assert desk.machine.intake.duplicates_dropped == 0


def test_an_inversion_stops_behind_everything_before_it() -> None:
    desk = Desk().start()
    desk.read(page(row(1, nr=5), row(2, nr=7), row(3, nr=6), row(4, nr=8)))
    desk.publish()
    error = desk.stopped().error
    assert isinstance(error, OperatorError)
    assert "'e'/6 became visible after 7" in str(error)
    assert desk.sent == ["e/5", "e/7"]


def test_by_choice_inversions_are_published_marked_and_counted() -> None:
    desk = Desk(on_inversion="late").start()
    desk.read(page(row(1, nr=5), row(2, nr=7), row(3, nr=6)))
    desk.publish()
    desk.read(page(row(4, nr=3), row(5, nr=8), row(6, nr=6)))
    desk.expect(ReadPage)
    desk.publish()
    assert desk.sent == ["e/5", "e/7", "e/6 late", "e/3 late", "e/8"]
    assert (desk.machine.intake.late, desk.machine.intake.duplicates_dropped) == (2, 1)


def test_by_choice_a_row_with_a_problem_stops_behind_everything_before_it() -> None:
    desk = Desk(on_poison="stop").start()
    desk.read(page(row(1), row(2), row(3, problem="event 'e'/3 is too large"), row(4)))
    desk.publish()
    error = desk.stopped().error
    assert isinstance(error, OperatorError)
    assert "journal orders: event 'e'/3 is too large" in str(error)
    assert desk.sent == ["e/1", "e/2"]
    assert desk.machine.cursor is not None
    assert desk.machine.cursor.position == at(2)
