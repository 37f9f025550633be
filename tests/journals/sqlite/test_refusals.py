"""What stops an SQLite journal, and what it says."""

from pathlib import Path

import pytest

from bridge.core.positions import SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS
from bridge.errors import ConfigError, OperatorError, SetupError, UnavailableError
from bridge.journals.sqlite.journal import SqliteJournal
from bridge.journals.sqlite.table import SqliteTable
from tests.contracts.journal_subject import WIDE, Reading, keys
from tests.journals.sqlite.subject import BRIDGE, SqliteSubject


def _journal(url: str) -> SqliteJournal:
    return SqliteJournal(app="a", name="j", url=url, table=BRIDGE, limits=WIDE)


def test_a_missing_file_is_named_and_not_created(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    with pytest.raises(SetupError, match=r"missing\.db does not exist"):
        _journal(f"sqlite:///{path}").attach(None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory"])
def test_memory_is_refused(url: str) -> None:
    with pytest.raises(SetupError, match="must be a file"):
        _journal(url).attach(None)


def test_a_file_that_is_no_database_needs_an_operator(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("no database, but long enough to look like one " * 100)
    with pytest.raises(OperatorError, match="not a database"):
        _journal(f"sqlite:///{path}").attach(None)


def test_a_journal_that_was_not_installed_is_refused(foreign: SqliteSubject) -> None:
    with pytest.raises(SetupError, match="bridge_outbox does not exist"):
        foreign.journal().attach(None)


def test_columns_and_misfit_tables_are_refused() -> None:
    with pytest.raises(ConfigError, match="columns is not possible"):
        SqliteTable("actor-ts", "columns", "events")
    with pytest.raises(ConfigError, match="does not fit"):
        SqliteTable("bridge", "outbox", "bridge_events")
    with pytest.raises(ConfigError, match="bridge_events, not in"):
        SqliteTable("bridge", None, "others")


def _published(subject: SqliteSubject, count: int) -> Reading:
    subject.commit(*[("p", nr) for nr in range(1, count + 1)])
    reading = Reading(subject)
    assert len(reading.poll()) == count
    return reading


def test_numbers_of_deleted_rows_are_not_handed_out_again(ours: SqliteSubject) -> None:
    reading = _published(ours, 10)
    ours.run("DELETE FROM bridge_events")
    assert reading.poll() == []
    ours.commit(("p", 11))
    assert keys(reading.poll()) == [("p", 11)]


@pytest.mark.parametrize("restart", [False, True])
def test_numbers_that_begin_anew_below_the_cursor_stop_the_relay(
    ours: SqliteSubject, restart: bool
) -> None:
    reading = _published(ours, 10)
    ours.run("DELETE FROM bridge_events")
    ours.run("DELETE FROM sqlite_sequence")
    ours.commit(("q", 1), ("q", 2), ("q", 3))
    with pytest.raises(OperatorError, match="numbered up to 3, the cursor stands behind 10"):
        reading.restart() if restart else reading.page()


def test_a_replaced_file_is_noticed_while_the_relay_runs(ours: SqliteSubject) -> None:
    reading = Reading(ours)
    ours.save_copy()
    reading.renew_witness()
    reading.renew_witness()
    ours.restore_copy()
    ours.commit(("p", 1))
    with pytest.raises(UnavailableError, match="replaced"):
        reading.page()
    with pytest.raises(OperatorError, match="witness"):
        reading.restart()


def test_another_file_is_not_the_cursors(ours: SqliteSubject, tmp_path: Path) -> None:
    cursor = Reading(ours).cursor
    other = SqliteSubject(tmp_path / "other.db", BRIDGE)
    other.installer().install(None)
    with pytest.raises(OperatorError, match="system identifier"):
        other.journal().attach(cursor)
    other.close()


def test_a_cursor_of_another_ordering_is_refused(ours: SqliteSubject) -> None:
    reading = Reading(ours)
    with pytest.raises(OperatorError, match="ordering `snapshot`"):
        reading.journal.read(WindowPosition(GENESIS), settle=False)


def test_a_writer_that_holds_the_lock_is_an_error_to_be_retried(
    ours: SqliteSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.journals.sqlite.session.BUSY_TIMEOUT_S", 0.05)
    reading = Reading(ours)
    ours.commit(("p", 1))
    writing = ours.begin()
    writing.append("p", 2)
    assert keys(reading.poll()) == [("p", 1)]
    with pytest.raises(UnavailableError, match="locked"):
        reading.renew_witness()
    writing.commit()
    assert keys(reading.poll()) == [("p", 2)]


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("tags", "not JSON", "cannot be read"),
        ("tags", "[1", "cannot be read"),
        ("timestamp_ms", "yesterday", "its time is no integer"),
        ("persistence_id", b"\xff", "persistence_id is no text"),
        ("sequence_nr", "seven", "sequence_nr is no integer"),
    ],
)
def test_a_row_that_cannot_be_read_stops_behind_those_before_it(
    ours: SqliteSubject, column: str, value: object, what: str
) -> None:
    ours.commit(("p", 1), ("p", 2), ("p", 3))
    ours.run(f"UPDATE bridge_events SET {column} = ? WHERE ordering = 2", value)
    reading = Reading(ours)
    page = reading.page()
    assert keys(page.rows) == [("p", 1)]
    assert not page.drained
    with pytest.raises(OperatorError, match=what):
        reading.page()
    assert reading.cursor.position == SequencePosition(1)


def test_an_id_that_is_not_unicode_stops_the_relay(ours: SqliteSubject) -> None:
    ours.commit(("p", 1))
    ours.run("UPDATE bridge_events SET persistence_id = CAST(x'ff41' AS TEXT)")
    with pytest.raises(OperatorError, match="cannot be read"):
        Reading(ours).page()
