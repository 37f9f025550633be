"""Events that cannot be sent: parked, kept behind, released in order."""

from typing import Any

from bridge.core.effects import (
    CheckTopics,
    Effect,
    PageRead,
    ParkedRead,
    Publish,
    ReadPage,
    ReadParked,
    Stop,
    TopicsMatch,
    Verdict,
    WaitUntil,
)
from bridge.core.parking import MAX_RUNS, ParkedEntity, ParkingChange, ReleaseRequest
from bridge.core.positions import SequencePosition
from bridge.errors import OperatorError
from tests.core.relay_desk import (
    DEAD_LETTERS,
    HOPELESS,
    TOPIC,
    Desk,
    Row,
    at,
    committed,
    failed,
    page,
    published,
    row,
)

_POISON = "it is too large"


def _desk(**changes: Any) -> Desk:
    """A desk at which time alone asks for nothing."""
    return Desk(idle_commit_ms=1e12, witness_period_ms=1e12, **changes)


def _parked(*runs: tuple[int, int], pid: str = "e") -> ParkedEntity:
    return ParkedEntity(pid, runs, runs[0][0], _POISON, 0)


def _request(discard: int | None = None, pid: str = "e", name: str = "r1") -> ReleaseRequest:
    return ReleaseRequest(pid, name, discard, "me", "", 0)


def _found(*rows: Row, more: bool = False, problem: str | None = None) -> ParkedRead[str]:
    """What the journal has of a parked entity."""
    return ParkedRead(rows, more, problem, (TOPIC,), 1000)


class _Play:
    """Lets a relay run until it has nothing to do, with prepared answers of the journal.

    Attributes:
        pages, found, requests: what is read next: of the journal, of parked entities, of operators.
        transactions, asked: what was published, and which entities were read.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.pages: list[PageRead[str]] = []
        self.found: list[ParkedRead[str]] = []
        self.requests: list[ReleaseRequest] = []
        self.transactions: list[Publish[str]] = []
        self.asked: list[ParkedEntity] = []
        self._lane: Effect[str] | None = None

    def run(self) -> Stop | None:
        """The end of the relay, if that is why it does nothing more."""
        for _ in range(200):
            effect = self.desk.machine.next_effect(self.desk.now)
            match effect:
                case Stop():
                    return effect
                case Publish():
                    self._commit(effect)
                case WaitUntil():
                    if self._lane is None and not (self.pages or self.found):
                        return None
                    self._pass(effect)
                case _:
                    self._lane = effect
        raise AssertionError("it never rests")

    def ask(self, *requests: ReleaseRequest) -> Stop | None:
        """Run on, with the next comparison of topics finding these requests."""
        self.requests = list(requests)
        self.desk.now += 2_000_000
        return self.run()

    def _commit(self, effect: Publish[str]) -> None:
        self.transactions.append(effect)
        outcome = published(effect, self.desk.now)
        for step in effect.batch.steps:
            self.desk.sent += () if step.row is None else step.row.records
        self.desk.answer(effect, outcome)

    def _pass(self, wait: WaitUntil) -> None:
        lane, self._lane = self._lane, None
        match lane:
            case None:
                self.desk.now = wait.at_ms
            case CheckTopics():
                self.desk.answer(lane, TopicsMatch(self.requests))
            case ReadParked():
                self.asked.append(lane.entity)
                self.desk.answer(lane, self.found.pop(0))
            case ReadPage():
                here = lane.position
                assert isinstance(here, SequencePosition)
                nothing = page(end=here.after, drained=True)
                self.desk.answer(lane, self.pages.pop(0) if self.pages else nothing)
            case _:
                raise AssertionError(lane)


def _parking(transaction: Publish[str], number: int = -1) -> ParkingChange:
    change = transaction.batch.steps[number].parking
    assert change is not None
    return change


def _waiting(desk: Desk) -> tuple[tuple[int, int], ...]:
    entity = desk.machine.intake.parked.get("e")
    return () if entity is None else entity.waiting


def test_the_events_behind_a_poisonous_one_wait_and_all_others_flow() -> None:
    desk = _desk().start()
    desk.read(page(row(1), row(2, problem=_POISON), row(3, "f", 1), row(4, nr=3)))
    desk.publish()
    last = desk.publish()
    assert desk.sent == ["e/1", "dlq e/2", "f/1", "dlq e/3"]
    assert _waiting(desk) == ((2, 3),)
    assert desk.machine.cursor is not None
    assert (desk.machine.cursor.position, desk.machine.cursor.rows) == (at(4), 4)
    assert DEAD_LETTERS in last.cursor.topics


def test_a_parked_entity_stays_so_for_a_relay_that_would_stop_at_a_new_one() -> None:
    desk = _desk(on_poison="stop").start(committed(5), parked=[_parked((4, 5))])
    desk.read(page(row(6), row(7, "f", 1), row(8, "f", 2, problem=_POISON)))
    desk.publish()
    assert desk.sent == ["dlq e/6", "f/1"]
    assert isinstance(desk.stopped().error, OperatorError)


def test_what_was_parked_and_not_committed_is_forgotten() -> None:
    desk = _desk().start()
    desk.read(page(row(1, problem=_POISON)))
    assert _waiting(desk) == ((1, 1),)
    effect = desk.expect(Publish)
    desk.answer(effect, failed(Verdict.NEW_PRODUCER))
    assert _waiting(desk) == ()
    desk.rest()
    desk.start(committed(0, owner="me"))
    desk.read(page(row(1)))
    desk.publish()
    assert desk.sent == ["e/1"]


def test_a_failure_of_the_journal_keeps_what_is_committed() -> None:
    desk = _desk().start()
    desk.read(page(row(1, problem=_POISON)))
    desk.publish()
    read = desk.expect(ReadPage)
    desk.answer(read, failed(Verdict.RETRY))
    desk.rest()
    desk.attach(1)
    desk.read(page(row(2)))
    desk.publish()
    assert desk.sent == ["dlq e/1", "dlq e/2"]


def test_a_release_moves_no_cursor_and_comes_before_what_is_read_later() -> None:
    desk = _desk().start(committed(5), parked=[_parked((4, 5))])
    play = _Play(desk)
    play.found = [_found(row(4), row(5))]
    play.pages = [page(row(6, "f", 1)), page(row(7, nr=6))]
    play.ask(_request())
    assert [(e.first, e.last) for e in play.asked] == [(4, 5)]
    assert desk.sent == ["e/4", "e/5", "f/1", "e/6"]
    (steps, *_) = [t.batch.steps for t in play.transactions]
    assert [step.position for step in steps[:2]] == [at(5), at(5)]
    assert steps[1].parking is not None
    assert steps[1].parking.answered == _request()
    assert desk.machine.cursor is not None
    assert desk.machine.cursor.rows == 7, "a released event was counted when it was parked"


def test_events_that_come_during_a_long_release_wait_behind_it() -> None:
    desk = _desk().start(committed(5), parked=[_parked((3, 5))])
    play = _Play(desk)
    play.found = [_found(row(3), more=True), _found(row(4), row(5), row(6))]
    play.pages = [page(row(6)), page(row(7))]
    play.ask(_request())
    assert [(e.first, e.last) for e in play.asked] == [(3, 5), (4, 6)]
    assert desk.sent == ["e/3", "dlq e/6", "e/4", "e/5", "e/6", "e/7"]


def test_an_event_that_still_cannot_be_sent_keeps_the_rest_and_answers() -> None:
    desk = _desk().start(committed(5), parked=[_parked((3, 5))])
    play = _Play(desk)
    play.found = [_found(row(3), row(4, problem="another reason"), row(5))]
    play.ask(_request())
    assert _parking(play.transactions[-1]).answered == _request()
    assert desk.sent == ["e/3"]
    assert desk.machine.intake.parked["e"] == ParkedEntity("e", ((4, 5),), 3, "another reason", 0)
    play.ask(_request())
    assert len(play.asked) == 1, "a request that is answered is listed until that is visible"


def test_an_event_that_is_missing_is_not_skipped() -> None:
    desk = _desk().start(committed(5), parked=[_parked((3, 5))])
    play = _Play(desk)
    play.found = [_found(row(3), row(5), more=True)]
    play.ask(_request())
    assert desk.sent == ["e/3"]
    assert "'e'/4 is no longer in the journal" in desk.machine.intake.parked["e"].reason


def test_rows_that_do_not_wait_are_left_to_the_journals_own_order() -> None:
    desk = _desk().start(committed(5), parked=[_parked((3, 3), (5, 5))])
    play = _Play(desk)
    play.found = [_found(row(3), row(4), row(5))]
    play.ask(_request())
    assert desk.sent == ["e/3", "e/5"]


def test_a_page_that_the_journal_cannot_read_keeps_the_entity_parked() -> None:
    desk = _desk().start(committed(5), parked=[_parked((3, 5))])
    play = _Play(desk)
    play.found = [_found(problem="event 'e'/3 cannot be read")]
    play.ask(_request())
    assert desk.machine.intake.parked["e"].reason == "event 'e'/3 cannot be read"


def test_only_the_first_waiting_event_is_discarded() -> None:
    desk = _desk().start(committed(5), parked=[_parked((3, 5))])
    play = _Play(desk)
    play.found = [_found(row(3), row(4), row(5))]
    play.ask(_request(discard=4))
    assert (desk.sent, _waiting(desk)) == ([], ((3, 5),))
    play.found = [_found(row(3, problem=_POISON), row(4), row(5))]
    play.ask(_request(discard=3, name="r2"))
    assert (desk.sent, _waiting(desk)) == (["discarded e/3", "e/4", "e/5"], ())


def test_a_discard_that_was_committed_before_a_crash_goes_on_as_a_release() -> None:
    desk = _desk().start(committed(5), parked=[_parked((4, 5))])
    play = _Play(desk)
    play.found = [_found(row(4), row(5))]
    play.ask(_request(discard=3))
    assert (desk.sent, _waiting(desk)) == (["e/4", "e/5"], ())


def test_a_request_about_an_entity_that_is_not_parked_is_answered() -> None:
    desk = _desk().start(committed(5))
    play = _Play(desk)
    play.ask(_request())
    change = _parking(play.transactions[-1])
    assert (change.after, change.answered) == (None, _request())


def test_late_events_find_their_place_among_waiting_ones_or_are_marked() -> None:
    desk = _desk(on_inversion="late").start()
    play = _Play(desk)
    play.pages = [
        page(row(1, nr=1), row(2, nr=5), row(3, nr=7, problem=_POISON)),
        page(row(4, nr=9), row(5, nr=8), row(6, nr=6), row(7, nr=4, problem=_POISON)),
    ]
    play.run()
    assert desk.sent[3:] == ["dlq e/9", "dlq e/8", "e/6 late", "dlq e/4"]
    assert _waiting(desk) == ((4, 4), (7, 9))
    play.found = [_found(*(row(0, nr=nr) for nr in (4, 7, 8, 9)))]
    play.ask(_request())
    assert desk.sent[7:] == ["e/4 late", "e/7", "e/8", "e/9"]


def test_a_limit_reached_or_a_letter_too_large_stops_behind_everything_before_it() -> None:
    one = _parked((1, 1), pid="d")
    many = _parked(*((2 * n, 2 * n) for n in range(1, MAX_RUNS + 1)))
    cases: list[tuple[dict[str, Any], list[ParkedEntity], Row, str]] = [
        ({"max_parked": 1}, [one], row(1, problem=_POISON), "1 entities are parked already"),
        ({}, [many], row(1, nr=2 * MAX_RUNS + 2), "gaps in their numbers"),
        ({}, [], row(1, problem=HOPELESS), HOPELESS),
    ]
    for settings, parked, last, said in cases:
        desk = _desk(**settings).start(committed(5), parked=parked)
        desk.read(page(row(6, "f", 1), last))
        desk.publish()
        assert said in str(desk.stopped().error)
        assert desk.sent == ["f/1"]


def test_parked_entities_without_a_cursor_stop_the_relay() -> None:
    desk = _desk()
    desk.recall(None, [_parked((1, 1))])
    assert "no cursor" in str(desk.stopped().error)


def test_a_relay_that_ends_when_caught_up_performs_requests_before() -> None:
    desk = _desk(until_caught_up=True)
    desk.recall(committed(5), [_parked((4, 5))])
    desk.attach(5)
    desk.do(CheckTopics, TopicsMatch([_request()]))
    play = _Play(desk)
    play.found = [_found(row(4), more=True), _found(row(5))]
    end = play.run()
    assert end is not None
    assert end.error is None
    assert desk.sent == ["e/4", "e/5"]


def test_a_release_that_was_not_committed_is_performed_again() -> None:
    parked = [_parked((4, 5))]
    desk = _desk().start(committed(5), parked=parked)
    desk.now += 2_000_000
    desk.do(CheckTopics, TopicsMatch([_request()]))
    desk.do(ReadParked, _found(row(4), row(5)))
    desk.do(Publish, failed(Verdict.NEW_PRODUCER))
    desk.rest()
    desk.recall(committed(5, owner="me"), parked)
    desk.attach(5)
    desk.do(CheckTopics, TopicsMatch([_request()]))
    desk.publish()
    play = _Play(desk)
    play.found = [_found(row(4), row(5))]
    play.run()
    assert desk.sent == ["e/4", "e/5"]
