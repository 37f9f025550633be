"""The relay's machine from its start to the first page, and how it ends."""

import pytest

from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    ConfirmFencing,
    CursorRead,
    Effect,
    Opened,
    OpenPublisher,
    Publish,
    ReadCursor,
    ReadPage,
    Superseded,
    TopicsMatch,
    Verdict,
    WaitUntil,
)
from bridge.errors import BridgeError, FencedError, UnavailableError
from tests.core.relay_desk import Desk, at, committed, failed, go_to, identity, page, row


def test_a_first_start_fences_then_finds_its_position_then_claims_it() -> None:
    desk = Desk()
    assert desk.do(OpenPublisher, Opened()) == OpenPublisher(1000)
    desk.do(ReadCursor, CursorRead(None))
    assert desk.do(AttachJournal, Attached(identity("w0"), at(7), ())) == AttachJournal(0, None)
    assert desk.do(CheckTopics, TopicsMatch()) == CheckTopics(0, (), fresh=True)
    claim = desk.publish()
    assert [step.row for step in claim.batch.steps] == [None]
    assert claim.batch.steps[-1].position == claim.cursor.origin == at(7)
    assert claim.cursor.owner == "me"
    assert claim.cursor.identity == identity("w0")
    assert desk.expect(ReadPage) == ReadPage(0, at(7), False)


def test_a_start_with_a_cursor_goes_on_where_it_stands_in_its_own_name() -> None:
    desk, cursor = Desk(), committed(40)
    desk.recall(cursor)
    found = Attached(identity("w0"), at(40), ())
    assert desk.do(AttachJournal, found) == AttachJournal(0, cursor)
    assert desk.do(CheckTopics, TopicsMatch()) == CheckTopics(0, cursor.topics, fresh=False)
    claim = desk.publish()
    assert (claim.cursor.owner, claim.cursor.rows) == ("me", 40)
    assert claim.batch.steps[-1].position == at(40)
    assert claim.cursor.topics == cursor.topics
    assert desk.expect(ReadPage).position == at(40)


def test_nothing_is_read_before_the_claim_is_committed() -> None:
    desk = Desk()
    desk.recall(None)
    desk.attach(0)
    desk.do(CheckTopics, TopicsMatch())
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.recall(None)
    assert desk.expect(AttachJournal).cursor is None


@pytest.mark.parametrize(
    ("reached", "verdict", "next_kind"),
    [
        (OpenPublisher, Verdict.RETRY, OpenPublisher),
        (OpenPublisher, Verdict.NEW_PRODUCER, OpenPublisher),
        (OpenPublisher, Verdict.FENCED, ConfirmFencing),
        (ReadCursor, Verdict.RETRY, ReadCursor),
        (ReadCursor, Verdict.NEW_PRODUCER, ReadCursor),
        (AttachJournal, Verdict.RETRY, AttachJournal),
        (CheckTopics, Verdict.RETRY, CheckTopics),
        (CheckTopics, Verdict.NEW_PRODUCER, CheckTopics),
        (Publish, Verdict.RETRY, OpenPublisher),
        (Publish, Verdict.NEW_PRODUCER, OpenPublisher),
        (Publish, Verdict.FENCED, ConfirmFencing),
    ],
)
def test_a_failure_before_the_claim_is_answered_after_a_pause(
    reached: type[Effect[str]], verdict: Verdict, next_kind: type[Effect[str]]
) -> None:
    desk = Desk()
    go_to(desk, reached)
    desk.do(reached, failed(verdict))
    assert desk.expect(WaitUntil).at_ms == desk.now + 100
    desk.rest()
    desk.expect(next_kind)


@pytest.mark.parametrize(
    "reached", [OpenPublisher, ReadCursor, AttachJournal, CheckTopics, Publish]
)
def test_a_verdict_to_stop_ends_with_its_error(reached: type[Effect[str]]) -> None:
    desk = Desk()
    go_to(desk, reached)
    failure = failed(Verdict.STOP)
    desk.do(reached, failure)
    assert desk.stopped().error is failure.error
    assert desk.machine.stats.last_error is failure.error


def test_a_server_out_of_reach_at_the_start_is_given_up_after_the_limit() -> None:
    desk = Desk(start_limit_ms=1_000)
    for _ in range(4):
        desk.do(OpenPublisher, failed(Verdict.RETRY))
        desk.rest()
    assert desk.now == 1_000 + 100 + 200 + 400 + 800
    failure = failed(Verdict.RETRY)
    desk.do(OpenPublisher, failure)
    assert desk.stopped().error is failure.error


def test_after_the_first_success_no_limit_ends_the_relay() -> None:
    desk = Desk(start_limit_ms=1_000).start()
    desk.now += 10_000
    for verdict in (Verdict.RETRY, Verdict.NEW_PRODUCER):
        desk.do(ReadPage, failed(verdict))
        desk.rest()
        desk.do(AttachJournal, failed(verdict))
        desk.rest()
        desk.attach(0)


def test_pauses_grow_while_only_claims_succeed() -> None:
    desk, pauses = Desk().start(), list[float]()
    for _ in range(8):
        desk.read(page(row(1)))
        desk.expect(ReadPage)
        desk.do(Publish, failed(Verdict.NEW_PRODUCER))
        before = desk.now
        desk.rest()
        pauses.append(desk.now - before)
        desk.start(committed(0, owner="me"))
    assert pauses == [100, 200, 400, 800, 1600, 3200, 5000, 5000]
    desk.read(page(row(1)))
    lane = desk.expect(ReadPage)
    desk.publish()
    desk.answer(lane, failed(Verdict.RETRY))
    assert desk.expect(WaitUntil).at_ms == desk.now + 100


def test_a_relay_that_was_cut_off_gives_way_to_its_successor() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    desk.expect(ReadPage)
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.do(OpenPublisher, Opened())
    desk.do(ReadCursor, CursorRead(committed(1, owner="successor")))
    error = desk.stopped().error
    assert isinstance(error, FencedError)
    assert "successor" in str(error)


@pytest.mark.parametrize(
    ("by", "kind"), [("successor", FencedError), (None, UnavailableError)], ids=str
)
def test_a_journal_that_seems_restored_may_be_a_successors(
    by: str | None, kind: type[BridgeError]
) -> None:
    desk = Desk().start()
    desk.do(ReadPage, failed(Verdict.RETRY))
    desk.rest()
    desk.do(AttachJournal, failed(Verdict.STOP))
    desk.do(ConfirmFencing, Superseded(by))
    assert isinstance(desk.stopped().error, kind)


def test_a_rival_found_after_fencing_ends_the_relay() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    desk.expect(ReadPage)
    desk.do(Publish, failed(Verdict.FENCED))
    desk.rest()
    assert desk.do(ConfirmFencing, Superseded("rival")) == ConfirmFencing(("me",))
    error = desk.stopped().error
    assert isinstance(error, FencedError)
    assert "rival" in str(error)
    assert desk.machine.stats.fenced == 1


def test_fenced_before_its_first_commit_it_does_not_take_its_predecessor_for_a_rival() -> None:
    desk = Desk()
    desk.do(OpenPublisher, Opened())
    desk.do(ReadCursor, CursorRead(committed(0, owner="predecessor")))
    desk.do(AttachJournal, Attached(identity("w0"), at(0), ()))
    desk.do(CheckTopics, TopicsMatch())
    desk.do(Publish, failed(Verdict.FENCED))
    desk.rest()
    assert desk.do(ConfirmFencing, Superseded(None)) == ConfirmFencing(("me", "predecessor"))


def test_fenced_by_a_time_out_the_relay_starts_from_the_cursor() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    desk.expect(ReadPage)
    desk.do(Publish, failed(Verdict.FENCED))
    desk.rest()
    desk.do(ConfirmFencing, failed(Verdict.RETRY))
    desk.rest()
    desk.do(ConfirmFencing, Superseded(None))
    desk.rest()
    desk.start(committed(0, owner="me"))
    desk.read(page(row(1)))
    desk.expect(ReadPage)
    desk.publish()
    assert desk.sent == ["e/1"]


@pytest.mark.parametrize(
    "reached", [OpenPublisher, ReadCursor, AttachJournal, CheckTopics, Publish]
)
def test_told_to_stop_it_ends_cleanly_wherever_it_is(reached: type[Effect[str]]) -> None:
    desk = Desk()
    go_to(desk, reached)
    effect: Effect[str] = desk.expect(reached)
    desk.machine.stop()
    desk.answer(effect, failed(Verdict.STOP))
    assert desk.stopped().error is None


def test_told_to_stop_it_publishes_nothing_more() -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2), row(3), row(4)))
    desk.publish()
    desk.machine.stop()
    assert desk.stopped().error is None
    assert desk.sent == ["e/1", "e/2", "e/3"]
