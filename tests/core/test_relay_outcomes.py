"""Outcomes that the machine does not wait for raise and change nothing."""

import pytest

from bridge.core.effects import (
    Attached,
    AttachJournal,
    CheckTopics,
    CursorRead,
    Effect,
    IllegalOutcomeError,
    Opened,
    OpenPublisher,
    Outcome,
    Publish,
    ReadCursor,
    ReadPage,
    TopicsMatch,
    Verdict,
)
from bridge.core.relay_machine import Phase
from tests.core.relay_desk import Desk, at, failed, go_to, identity, page, published, row

_BAD: list[tuple[type[Effect[str]], Outcome[str]]] = [
    (OpenPublisher, CursorRead(None)),
    (ReadCursor, Opened()),
    (AttachJournal, TopicsMatch()),
    (CheckTopics, Attached(identity("w0"), at(0), ())),
    (Publish, Opened()),
]


@pytest.mark.parametrize(("reached", "outcome"), _BAD)
def test_an_outcome_of_another_effect_raises_and_changes_nothing(
    reached: type[Effect[str]], outcome: Outcome[str]
) -> None:
    desk = Desk()
    go_to(desk, reached)
    effect: Effect[str] = desk.expect(reached)
    phase, cursor = desk.machine.phase, desk.machine.cursor
    with pytest.raises(IllegalOutcomeError):
        desk.answer(effect, outcome)
    assert (desk.machine.phase, desk.machine.cursor) == (phase, cursor)
    desk.answer(effect, failed(Verdict.RETRY))  # it is still waited for
    assert desk.machine.stats.failures == 1


def test_an_outcome_reported_twice_or_unasked_raises() -> None:
    desk = Desk()
    opened = desk.do(OpenPublisher, Opened())
    with pytest.raises(IllegalOutcomeError, match="nobody waits"):
        desk.answer(opened, Opened())
    desk.do(ReadCursor, CursorRead(None))
    attach = desk.expect(AttachJournal)
    with pytest.raises(IllegalOutcomeError, match="nobody waits"):
        desk.answer(AttachJournal(attach.generation, None), failed(Verdict.RETRY))
    assert desk.machine.phase is Phase.ATTACHING
    assert desk.machine.stats.failures == 0


def test_only_the_journal_lane_goes_on_while_a_transaction_is_published() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    lane, transaction = desk.expect(ReadPage), desk.expect(Publish)
    with pytest.raises(IllegalOutcomeError, match="no outcome was reported"):
        desk.machine.next_effect(desk.now)
    assert desk.machine.beside(desk.now) is None, "one effect at a time"
    desk.answer(lane, page(row(2)))
    behind = desk.beside()
    assert isinstance(behind, ReadPage)
    assert behind.position == at(2)
    desk.answer(transaction, published(transaction, desk.now))
    desk.answer(behind, page(row(3)))
    assert [step.row for step in desk.publish().batch.steps] == [row(2), row(3)]


def test_a_failure_beside_a_transaction_counts_once_its_outcome_is_known() -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2), row(3)))
    lane, transaction = desk.expect(ReadPage), desk.expect(Publish)
    desk.answer(lane, failed(Verdict.RETRY))
    assert desk.machine.stats.failures == 0
    desk.answer(transaction, published(transaction, desk.now, steps=1))
    assert desk.machine.stats.failures == 1
    desk.rest()
    attach = desk.expect(AttachJournal)
    assert attach.cursor is not None
    assert attach.cursor.position == at(1), "the rest is read again, not queued as well"


def test_a_failure_beside_a_transaction_that_fails_as_well_is_forgotten() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    lane, transaction = desk.expect(ReadPage), desk.expect(Publish)
    desk.answer(lane, failed(Verdict.STOP))
    desk.answer(transaction, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.expect(OpenPublisher)


@pytest.mark.parametrize("steps", [0, 3, -1])
def test_more_or_fewer_steps_than_there_were_are_illegal(steps: int) -> None:
    desk = Desk().start()
    desk.read(page(row(1), row(2)))
    desk.expect(ReadPage)
    transaction = desk.expect(Publish)
    good = published(transaction, desk.now)
    with pytest.raises(IllegalOutcomeError, match="steps"):
        desk.answer(transaction, type(good)(steps, good.cursor))
    desk.answer(transaction, good)
    assert desk.machine.cursor is not None
    assert desk.machine.cursor.position == at(2)
