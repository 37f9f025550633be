"""The relay's machine at work: reading ahead, failing, going on, keeping its cursor right."""

import pytest

from bridge.core.effects import (
    AttachJournal,
    ConfirmFencing,
    OpenPublisher,
    Publish,
    ReadPage,
    RenewWitness,
    Verdict,
    WaitUntil,
)
from bridge.core.rows import RowKey
from tests.core.relay_desk import (
    TOPIC,
    Desk,
    at,
    committed,
    failed,
    page,
    publish_one,
    row,
)


def test_the_next_page_is_asked_for_before_the_rows_of_the_last_are_committed() -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2)))
    ahead = desk.expect(ReadPage)
    assert ahead.position == at(2)
    transaction = desk.publish()
    assert transaction.cursor.topics == (TOPIC,)
    desk.answer(ahead, page(row(3)))
    assert desk.expect(ReadPage).position == at(3)
    desk.publish()
    desk.expect(WaitUntil)
    assert desk.sent == ["e/1", "e/2", "e/3"]


def test_reading_stops_while_a_whole_transaction_waits() -> None:
    desk = Desk().start()
    desk.read(page(*(row(n) for n in range(1, 8))))
    desk.publish()
    desk.publish()  # six of seven are committed, and only now is there room
    assert desk.expect(ReadPage).position == at(7)


def test_a_page_of_which_nothing_is_left_to_read_moves_the_cursor_behind_its_window() -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2), end=9, drained=True))
    desk.expect(ReadPage)
    desk.publish()
    assert desk.machine.cursor is not None
    assert (desk.machine.cursor.position, desk.machine.cursor.rows) == (at(9), 2)


def test_a_transaction_cut_short_leaves_the_rest_for_the_next() -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2), row(3), end=9))
    desk.publish(steps=1)
    assert desk.machine.cursor is not None
    assert (desk.machine.cursor.position, desk.machine.cursor.rows) == (at(1), 1)
    desk.expect(ReadPage)
    rest = desk.publish()
    assert [step.row for step in rest.batch.steps] == [row(2), row(3)]
    assert (desk.machine.cursor.position, desk.machine.cursor.rows) == (at(9), 3)
    assert desk.sent == ["e/1", "e/2", "e/3"]


@pytest.mark.parametrize(
    ("verdict", "next_kind"),
    [
        (Verdict.RETRY, OpenPublisher),
        (Verdict.NEW_PRODUCER, OpenPublisher),
        (Verdict.FENCED, ConfirmFencing),
    ],
)
def test_a_failed_transaction_drops_everything_that_was_read(
    verdict: Verdict, next_kind: type[OpenPublisher] | type[ConfirmFencing]
) -> None:
    desk = Desk().start()
    desk.read(page(*(row(n) for n in range(1, 6))))
    desk.do(Publish, failed(verdict))
    desk.rest()
    desk.expect(next_kind)


@pytest.mark.parametrize("happened", [False, True])
def test_after_an_unknown_outcome_only_the_cursor_tells_where_to_go_on(happened: bool) -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2), row(3), row(4)))
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.start(committed(3 if happened else 0, owner="me"))
    assert desk.expect(ReadPage).position == at(3 if happened else 0)


@pytest.mark.parametrize("verdict", [Verdict.RETRY, Verdict.NEW_PRODUCER])
def test_a_failed_page_attaches_anew_and_keeps_the_producer(verdict: Verdict) -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2), row(3), row(4)))
    desk.publish()
    desk.do(ReadPage, failed(verdict))
    desk.rest()
    attach = desk.expect(AttachJournal)
    assert attach.cursor is not None
    assert (attach.cursor.position, attach.cursor.owner) == (at(3), "me")
    desk.answer(attach, failed(verdict))
    desk.rest()
    desk.attach(3, recent=[RowKey("e", 3)])
    assert desk.read(page(row(4))).position == at(3)
    desk.expect(ReadPage)
    desk.publish()
    assert desk.sent == ["e/1", "e/2", "e/3", "e/4"]


def test_a_page_read_for_a_producer_that_is_gone_is_ignored() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    stale = desk.expect(ReadPage)
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.answer(stale, page(row(2), row(3)))
    desk.rest()
    desk.start(committed(0, owner="me"))
    desk.answer(stale, page(row(2), row(3)))
    desk.answer(stale, failed(Verdict.STOP))
    desk.read(page(row(1)))
    desk.expect(ReadPage)
    desk.publish()
    assert desk.sent == ["e/1"]
    assert desk.machine.cursor is not None
    assert desk.machine.cursor.position == at(1)


@pytest.mark.parametrize("kind", [ReadPage, RenewWitness])
def test_a_page_or_witness_that_asks_to_stop_ends_the_relay(
    kind: type[ReadPage] | type[RenewWitness],
) -> None:
    desk = Desk(witness_period_ms=5_000).start()
    if kind is RenewWitness:
        publish_one(desk, 1)
        desk.now += 5_000
    failure = failed(Verdict.STOP)
    desk.do(kind, failure)
    assert desk.stopped().error is failure.error


def test_caught_up_it_commits_what_waits_and_ends() -> None:
    desk = Desk(until_caught_up=True).start()
    desk.read(page(row(1), row(2), row(3), row(4)))
    desk.publish()
    desk.read(page(row(5), end=6, drained=True))
    desk.publish()
    assert desk.stopped().error is None
    assert desk.sent == [f"e/{n}" for n in range(1, 6)]


def test_an_empty_page_inside_a_window_is_not_caught_up() -> None:
    desk = Desk(until_caught_up=True).start()
    desk.read(page(end=3))
    assert desk.read(page(end=5, drained=True)).position == at(3)
    assert desk.stopped().error is None


def test_caught_up_holds_only_for_the_journal_as_it_is_attached() -> None:
    desk = Desk(until_caught_up=True).start()
    desk.read(page(row(1), end=1, drained=True))
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.start(committed(0, owner="me"))
    desk.read(page(row(1), end=1, drained=True))
    desk.publish()
    assert desk.stopped().error is None
    assert desk.sent == ["e/1"]
