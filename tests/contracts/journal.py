"""What every journal adapter must do."""

from collections.abc import Iterator

import pytest

from bridge.core.positions import HistoryPosition
from bridge.core.rows import JournalRow, RowKey
from bridge.errors import OperatorError, UnavailableError
from bridge.journals.base import PageLimits
from tests.contracts.journal_subject import WIDE, JournalSubject, Reading, keys

__all__ = ["JournalContract"]

# fmt: off
UGLY_TAGS = (
    "User", "UserEmail", "%", "_", "a_b", "aXb", " Dont care ", "a/b", "заказы", ".", "..",
    "line\n", "\U0001f600", "'quoted\"", "\\x", "NULL", "{}", "[1]", "e\u0301", "é",
)
# fmt: on
NARROW = PageLimits(max_rows=3, max_bytes=8_388_608)
EIGHT = [("p", nr) for nr in range(1, 9)]


class JournalContract:
    """Subclasses give the fixture `subject`."""

    @pytest.fixture(autouse=True)
    def _adapters_are_closed(self, subject: JournalSubject) -> Iterator[None]:
        yield
        subject.close()

    @pytest.mark.parametrize("restart", [False, True])
    def test_commits_in_the_reverse_order_of_time_and_id_are_both_delivered(
        self, subject: JournalSubject, restart: bool
    ) -> None:
        reading = Reading(subject)
        slow, late = subject.begin(), None
        if subject.concurrent:
            slow.append("slow", 1, timestamp_ms=1_000)
        else:
            slow.rollback()  # it has read its clock only: nobody else could write before it ends
            late = subject.begin
        subject.commit(("fast", 1), timestamp_ms=2_000)
        assert keys(reading.poll()) == [("fast", 1)]
        assert reading.poll() == []
        if restart:
            reading.restart()
        if late is not None:
            slow = late()
            slow.append("slow", 1, timestamp_ms=1_000)
        slow.commit()
        assert keys(reading.poll()) == [("slow", 1)]
        assert reading.poll() == []

    @pytest.mark.parametrize("restart", [False, True])
    def test_an_open_transaction_delays_nobody(
        self, subject: JournalSubject, restart: bool
    ) -> None:
        if not subject.concurrent:
            with pytest.raises(Exception, match="locked"):
                self._open_two(subject)
            return
        reading = Reading(subject)
        open_ = subject.begin()
        open_.append("open", 1)
        for nr in range(1, 4):
            subject.commit(("other", nr))
            if restart:
                reading.restart()
            assert keys(reading.poll()) == [("other", nr)]
        open_.rollback()
        assert reading.poll() == []

    @staticmethod
    def _open_two(subject: JournalSubject) -> None:
        first, second = subject.begin(), subject.begin()
        try:
            first.append("a", 1)
            second.append("b", 1)
        finally:
            first.rollback()
            second.rollback()

    def test_a_rolled_back_transaction_leaves_nothing(self, subject: JournalSubject) -> None:
        reading = Reading(subject)
        writing = subject.begin()
        writing.append("gone", 1)
        writing.rollback()
        assert reading.poll() == []
        subject.commit(("kept", 1))
        assert keys(reading.poll()) == [("kept", 1)]

    def test_rows_outside_a_rolled_back_savepoint_are_delivered(
        self, subject: JournalSubject
    ) -> None:
        writing = subject.begin()
        writing.append("p", 1)
        writing.savepoint()
        writing.append("gone", 1)
        writing.rollback_to_savepoint()
        writing.append("p", 2)
        writing.commit()
        assert keys(Reading(subject).poll()) == [("p", 1), ("p", 2)]

    def test_rows_of_a_transaction_come_together_in_the_order_of_their_insertion(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject)
        events = [("b", 1), ("a", 1), ("b", 2), ("c", 7), ("a", 2)]
        subject.commit(*events)
        page = reading.journal.read(reading.cursor.position, settle=False)
        while not page.rows:  # an empty history comes first
            page = reading.journal.read(page.end, settle=False)
        assert keys(page.rows) == events
        assert page.drained

    def test_pages_keep_to_their_rows_and_a_restart_between_them_changes_nothing(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject, NARROW)
        subject.commit(*EIGHT)
        got = []
        for _ in range(10):
            page = reading.page()
            assert len(page.rows) <= NARROW.max_rows
            got += keys(page.rows)
            reading.restart()
        assert got == EIGHT

    def test_pages_keep_to_their_bytes_but_a_single_row_may_exceed_them(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject, PageLimits(max_rows=1_000, max_bytes=2_500))
        writing = subject.begin()
        sizes = [1_000, 1_000, 1_000, 9_000, 100, 100]
        for nr, size in enumerate(sizes, start=1):
            writing.append("p", nr, payload=b'"' + b"x" * (size - 2) + b'"')
        writing.commit()
        pages = [page for _ in range(8) if (page := reading.page()).rows]
        assert [len(row.payload or b"") for page in pages for row in page.rows] == sizes
        assert [len(page.rows) for page in pages] == [2, 1, 1, 2]

    def test_reading_resumes_behind_each_row_of_a_page(self, subject: JournalSubject) -> None:
        reading = Reading(subject, NARROW)
        subject.commit(*EIGHT)
        subject.commit(("q", 1))
        everything = [*EIGHT, ("q", 1)]
        done = 0
        while done < len(everything):
            page = reading.page()
            for row in page.rows:
                done += 1
                again = reading.twin()
                again.keep(page.window.behind(row.place))
                again.restart()
                assert keys(again.poll()) == everything[done:]
                again.journal.close()
            reading.restart()

    def test_drained_says_that_all_committed_before_the_attachment_was_given(
        self, subject: JournalSubject
    ) -> None:
        subject.commit(*EIGHT)
        reading = Reading(subject, NARROW)
        pages = [reading.page()]
        while not pages[-1].drained:
            pages.append(reading.page())
        assert [key for page in pages for key in keys(page.rows)] == EIGHT
        assert all(not page.drained for page in pages[:-1])

    def test_a_settled_empty_position_can_be_resumed_from(self, subject: JournalSubject) -> None:
        reading = Reading(subject)
        subject.commit(("p", 1))
        assert keys(reading.poll()) == [("p", 1)]
        writing = subject.begin()
        writing.append("gone", 1)
        writing.rollback()
        settled = reading.page(settle=True)
        assert list(settled.rows) == []
        assert settled.drained
        reading.restart()
        subject.commit(("p", 2))
        assert keys(reading.poll()) == [("p", 2)]

    def test_start_now_leaves_out_what_was_committed_before(self, subject: JournalSubject) -> None:
        subject.commit(("old", 1))
        reading = Reading(subject, start="now")
        subject.commit(("new", 1))
        reading.restart()
        assert keys(reading.poll()) == [("new", 1)]

    def test_the_cursor_of_the_last_witness_stays_valid_beside_the_fresh_one(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject)
        before = reading.cursor
        reading.renew_witness()
        assert reading.cursor.identity.witness != before.identity.witness
        reading.restart()
        assert subject.journal().attach(before).identity == before.identity

    def test_a_restored_old_copy_is_detected_though_it_was_written_to_since(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject)
        subject.commit(("p", 1))
        reading.poll()
        reading.journal.close()
        subject.save_copy()
        reading.restart()
        subject.commit(("lost", 1))
        reading.poll()
        reading.renew_witness()
        reading.renew_witness()
        reading.journal.close()
        subject.restore_copy()
        subject.commit(("q", 1), ("q", 2), ("q", 3))
        with pytest.raises(OperatorError, match="witness"):
            reading.restart()

    def test_tags_arrive_as_they_were_written(self, subject: JournalSubject) -> None:
        tags = UGLY_TAGS + (("User,Email",) if subject.comma_tags else ())
        writing = subject.begin()
        writing.append("p", 1, tags=tags)
        writing.append("p", 2, tags=("a", "b", "a"))
        writing.append("p", 3, tags=())
        writing.commit()
        assert [row.tags for row in Reading(subject).poll()] == [tags, ("a", "b"), ()]

    def test_event_times_of_any_age_drag_nothing_along(self, subject: JournalSubject) -> None:
        reading = Reading(subject)
        times = [2**62, 1, -(2**62), 0, 1_700_000_000_000]
        for nr, time_ms in enumerate(times, start=1):
            subject.commit(("p", nr), timestamp_ms=time_ms)
            assert [row.timestamp_ms for row in reading.poll()] == [time_ms]
            reading.restart()

    def test_ids_and_payloads_arrive_byte_by_byte(self, subject: JournalSubject) -> None:
        writing = subject.begin()
        pids = ["Ünï-\U0001f600", "with 'quotes\"", " ", "a" * 255]
        payload = '{"a\\u0000b": "é \U0001f600"}'.encode()
        for pid in pids:
            writing.append(pid, 1, payload=payload)
        writing.commit()
        rows = Reading(subject).poll()
        assert [(row.persistence_id, row.payload) for row in rows] == [(p, payload) for p in pids]

    def test_a_null_payload_stays_none(self, subject: JournalSubject) -> None:
        writing = subject.begin()
        if not subject.null_payload:
            with pytest.raises(Exception, match=r"(?i)not.null"):
                writing.append("p", 1, payload=None)
            writing.rollback()
            return
        writing.append("p", 1, payload=None)
        writing.append("p", 2, payload=b"")
        writing.commit()
        assert [row.payload for row in Reading(subject).poll()] == [None, b""]

    def test_large_payloads_come_one_by_one_when_the_page_is_small(
        self, subject: JournalSubject
    ) -> None:
        sent = [b'"' + bytes([65 + nr]) * 1_048_576 + b'"' for nr in range(4)]
        writing = subject.begin()
        for nr, payload in enumerate(sent, start=1):
            writing.append("p", nr, payload=payload)
        writing.commit()
        reading = Reading(subject, PageLimits(max_rows=1_000, max_bytes=1_500_000))
        pages = [page for _ in range(8) if (page := reading.page()).rows]
        assert [row.payload for page in pages for row in page.rows] == sent
        assert [len(page.rows) for page in pages] == [1, 1, 1, 1]

    def test_attaching_tells_what_was_published_last(self, subject: JournalSubject) -> None:
        reading = Reading(subject, NARROW)
        assert reading.recent == []
        subject.commit(*EIGHT[:2])
        reading.poll()
        subject.commit(*EIGHT[2:])
        page = reading.page()
        assert not isinstance(page.window, HistoryPosition)
        reading.keep(page.window.behind(page.rows[0].place))
        reading.restart()
        assert reading.recent == [RowKey(*key) for key in EIGHT[:3]]

    def test_events_of_an_entity_come_by_their_numbers_a_page_at_a_time(
        self, subject: JournalSubject
    ) -> None:
        subject.commit(("q", 1), ("p", 2), ("p", 1), ("p", 4))
        subject.commit(*EIGHT[4:], ("r", 5))
        reading = Reading(subject, NARROW)
        read = reading.journal.read_entity
        assert keys(read("p", 1, 3)[0]) == EIGHT[:2]
        rows, more = read("p", 2, 8)
        assert (keys(rows), more) == ([("p", 2), ("p", 4), ("p", 5)], True)
        rows, more = read("p", 6, 8)
        assert (keys(rows), more) == (EIGHT[5:], False)
        assert read("p", 9, 12) == ([], False)
        assert read("nobody", 1, 12) == ([], False)
        assert keys(reading.poll()) != [], "it must not move the position"

    def test_events_of_an_entity_are_those_that_were_delivered(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject, PageLimits(max_rows=1_000, max_bytes=2_500))
        writing = subject.begin()
        writing.append("p", 1, payload=b'"1"', tags=("a", "b"), timestamp_ms=7)
        for nr in range(2, 5):
            writing.append("p", nr, payload=b'"' + bytes([64 + nr]) * 1_500 + b'"')
        writing.commit()
        delivered = reading.poll()
        found: list[JournalRow] = []
        more = True
        while more:
            rows, more = reading.journal.read_entity("p", 1 + len(found), 4)
            found += rows
        assert [row[:8] for row in found] == [row[:8] for row in delivered]

    def test_an_adapter_that_is_not_attached_asks_to_be_attached(
        self, subject: JournalSubject
    ) -> None:
        reading = Reading(subject, WIDE)
        reading.journal.close()
        with pytest.raises(UnavailableError):
            reading.page()
        with pytest.raises(UnavailableError):
            reading.journal.read_entity("p", 1, 2)
        reading.restart()
        assert reading.poll() == []
