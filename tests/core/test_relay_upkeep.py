"""What a running relay does beside its rows: idle cursors, topics, the witness, the producer."""

from bridge.core.effects import (
    AttachJournal,
    CheckTopics,
    OpenPublisher,
    ReadPage,
    RenewWitness,
    TopicsMatch,
    Verdict,
    WaitUntil,
    WitnessRenewed,
)
from tests.core.relay_desk import (
    TOPIC,
    Desk,
    at,
    committed,
    failed,
    identity,
    page,
    publish_one,
    row,
)


def test_an_idle_relay_commits_its_position_once_a_period() -> None:
    desk = Desk(idle_commit_ms=1_000).start()
    desk.now += 999
    assert desk.read(page(end=3, drained=True)).settle is False
    desk.rest(at_least_ms=10)
    assert desk.read(page(end=4, drained=True)).settle is True
    idle = desk.publish()
    assert [step.position for step in idle.batch.steps] == [at(4)]
    assert desk.machine.cursor is not None
    assert (desk.machine.cursor.position, desk.machine.cursor.rows) == (at(4), 0)
    desk.rest()
    assert desk.read(page(end=5, drained=True)).settle is False
    desk.expect(WaitUntil)


def test_polls_of_a_quiet_journal_spread_up_to_the_interval_and_close_up_again() -> None:
    desk, pauses = Desk(poll_interval_ms=20).start(), list[float]()
    for _ in range(7):
        desk.read(page(end=0, drained=True))
        before = desk.now
        desk.rest()
        pauses.append(desk.now - before)
    assert pauses == [1, 2, 4, 8, 16, 20, 20]
    desk.read(page(row(1), drained=True))
    lane = desk.expect(ReadPage)
    desk.publish()
    desk.answer(lane, page(end=1, drained=True))
    assert desk.expect(WaitUntil).at_ms == desk.now + 1


def test_a_wait_with_a_page_under_way_is_bounded() -> None:
    desk = Desk().start()
    desk.expect(ReadPage)
    assert desk.expect(WaitUntil).at_ms == desk.now + 1_000


def test_topics_are_compared_periodically_with_all_that_were_used() -> None:
    desk = Desk(topics_period_ms=3_000).start()
    publish_one(desk, 1)
    desk.now += 3_000
    assert desk.expect(CheckTopics) == CheckTopics(0, (TOPIC,), fresh=False)


def test_topics_that_cannot_be_compared_are_compared_again_before_anything_is_read() -> None:
    desk = Desk(topics_period_ms=3_000).start()
    desk.now += 3_000
    desk.do(CheckTopics, failed(Verdict.RETRY))
    desk.rest()
    desk.do(CheckTopics, TopicsMatch())
    assert desk.expect(ReadPage).position == at(0)


def test_topics_that_differ_stop_the_relay() -> None:
    desk = Desk(topics_period_ms=3_000).start()
    desk.now += 3_000
    failure = failed(Verdict.STOP)
    desk.do(CheckTopics, failure)
    assert desk.stopped().error is failure.error


def test_the_witness_is_renewed_only_while_rows_flow() -> None:
    desk = Desk(witness_period_ms=5_000).start()
    desk.now += 50_000
    desk.read(page(end=0, drained=True))
    desk.rest()
    publish_one(desk, 1)
    assert desk.expect(RenewWitness).committed == identity("w0")


def test_a_renewed_witness_is_renewed_again_only_after_a_cursor_named_it() -> None:
    desk = Desk(witness_period_ms=5_000).start()
    publish_one(desk, 1)
    desk.now += 5_000
    desk.do(RenewWitness, WitnessRenewed(identity("w1")))
    desk.now += 50_000
    desk.read(page(row(2)))  # nobody has named w1 yet
    ahead = desk.expect(ReadPage)
    assert desk.publish().cursor.identity == identity("w1")
    desk.answer(ahead, page(end=2, drained=True))
    assert desk.expect(RenewWitness).committed == identity("w1")


def test_rows_committed_while_a_witness_is_being_renewed_name_the_former_one() -> None:
    desk = Desk(witness_period_ms=5_000).start()
    desk.read(page(*(row(n) for n in range(1, 8))))
    desk.publish()
    desk.now += 5_000
    renewal = desk.expect(RenewWitness)
    assert desk.publish().cursor.identity == identity("w0")
    desk.answer(renewal, WitnessRenewed(identity("w1")))
    desk.now += 50_000
    desk.expect(ReadPage)  # the cursor in Kafka names w0: w1 must not become the former one
    assert desk.publish().cursor.identity == identity("w1")


def test_a_renewal_that_failed_attaches_with_the_witness_that_is_in_the_cursor() -> None:
    desk = Desk(witness_period_ms=5_000).start()
    publish_one(desk, 1)
    desk.now += 5_000
    desk.do(RenewWitness, failed(Verdict.RETRY))
    desk.rest()
    attach = desk.expect(AttachJournal)
    assert attach.cursor is not None
    assert attach.cursor.identity == identity("w0")


def test_a_witness_that_attaching_brought_is_not_renewed_before_a_cursor_named_it() -> None:
    desk = Desk(witness_period_ms=5_000).start()
    publish_one(desk, 1)
    desk.rest()
    desk.do(ReadPage, failed(Verdict.RETRY))
    desk.rest()
    desk.attach(1, witness="w9")
    desk.now += 50_000
    desk.expect(ReadPage)


def test_a_topic_that_takes_less_makes_a_smaller_producer_before_its_rows_are_sent() -> None:
    desk = Desk().start()
    desk.read(page(row(1)))
    ahead = desk.expect(ReadPage)
    desk.answer(ahead, page(row(2), batch_bytes=400))
    desk.publish()
    assert desk.do(OpenPublisher, failed(Verdict.RETRY)) == OpenPublisher(400)
    desk.rest()
    assert desk.expect(OpenPublisher) == OpenPublisher(400)
    assert desk.sent == ["e/1"]


def test_a_smaller_producer_reads_the_same_rows_again() -> None:
    desk = Desk(until_caught_up=True).start()
    desk.read(page(row(1), drained=True, batch_bytes=400))
    desk.start(committed(0, owner="me"))
    desk.read(page(row(1), drained=True, batch_bytes=400))
    desk.publish()
    assert desk.stopped().error is None
    assert desk.sent == ["e/1"]
    assert desk.machine.stats.rows == 1
