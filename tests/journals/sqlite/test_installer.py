"""Preparing an SQLite file, looking it over, and cleaning it up."""

import pytest

from bridge.errors import SetupError
from bridge.journals.sqlite.installer import SqliteInstaller
from bridge.journals.sqlite.table import SqliteTable
from tests.contracts.journal_subject import Reading
from tests.journals.sqlite.subject import SqliteSubject


def _schema(subject: SqliteSubject) -> list[tuple[object, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name != 'sqlite_sequence'"
    return sorted(subject.run(query), key=str)


def test_installing_again_changes_nothing(foreign: SqliteSubject) -> None:
    foreign.installer().install(None)
    foreign.commit(("p", 1))
    before = _schema(foreign), foreign.run("SELECT * FROM bridge_state ORDER BY key")
    foreign.installer().install(None)
    assert (_schema(foreign), foreign.run("SELECT * FROM bridge_state ORDER BY key")) == before
    assert foreign.installer().inspect().findings == ()


def test_uninstalling_leaves_the_foreign_schema_as_it_was(foreign: SqliteSubject) -> None:
    before = _schema(foreign)
    foreign.installer().install(None)
    foreign.commit(("p", 1))
    Reading(foreign).poll()
    assert _schema(foreign) != before
    foreign.close()
    foreign.installer().uninstall(None, drop_events=False)
    assert _schema(foreign) == before
    assert foreign.run("SELECT count(*) FROM events") == [(1,)]
    foreign.installer().uninstall(None, drop_events=False)


def test_the_plans_are_what_is_done(foreign: SqliteSubject) -> None:
    before = _schema(foreign)
    plan = foreign.installer().plan(None)
    assert _schema(foreign) == before
    for statement in plan:
        foreign.run(statement)
    by_hand = _schema(foreign)
    foreign.installer().install(None)
    assert _schema(foreign) == by_hand
    for statement in foreign.installer().removal_plan(None, drop_events=False):
        foreign.run(statement)
    assert _schema(foreign) == before


def test_events_of_our_own_are_dropped_only_when_told_so(ours: SqliteSubject) -> None:
    ours.commit(("p", 1))
    with pytest.raises(SetupError, match="holds rows"):
        ours.installer().uninstall(None, drop_events=False)
    assert ours.run("SELECT count(*) FROM bridge_events") == [(1,)]
    assert "only if it is empty" in ours.installer().removal_plan(None, drop_events=False)[0]
    ours.installer().uninstall(None, drop_events=True)
    assert _schema(ours) == []


@pytest.mark.parametrize(
    ("key", "ending", "what"),
    [
        ("ordering INTEGER PRIMARY KEY -- AUTOINCREMENT", "", "not AUTOINCREMENT"),
        (
            "ordering INTEGER PRIMARY KEY /* AUTOINCREMENT */ DEFAULT 'AUTOINCREMENT'",
            "",
            "not AUTO",
        ),
        ("ordering INTEGER PRIMARY KEY", "WITHOUT ROWID", "WITHOUT ROWID"),
        ("nr INTEGER PRIMARY KEY AUTOINCREMENT, ordering", "", "not AUTOINCREMENT"),
    ],
)
def test_an_order_that_may_be_reused_is_refused(
    ours: SqliteSubject, key: str, ending: str, what: str
) -> None:
    ours.run("DROP TABLE bridge_events")
    ours.run(
        f"CREATE TABLE bridge_events ({key}\n, persistence_id, sequence_nr, event_type,"
        f" content_type, payload, tags, metadata, timestamp_ms) {ending}"
    )
    with pytest.raises(SetupError, match=what):
        ours.installer().install(None)
    with pytest.raises(SetupError, match=what):
        ours.journal().attach(None)


def test_missing_columns_are_named(ours: SqliteSubject) -> None:
    ours.run("ALTER TABLE bridge_events DROP COLUMN metadata")
    with pytest.raises(SetupError, match="column metadata"):
        ours.installer().install(None)
    assert ["metadata" in finding.what for finding in ours.installer().inspect().errors] == [True]


def test_a_foreign_table_must_be_there(foreign: SqliteSubject) -> None:
    foreign.run("DROP TABLE events")
    with pytest.raises(SetupError, match="table events does not exist"):
        foreign.installer().install(None)


def test_a_file_has_room_for_one_foreign_journal(foreign: SqliteSubject) -> None:
    foreign.installer().install(None)
    foreign.run("CREATE TABLE others AS SELECT * FROM events")
    table = SqliteTable("actor-ts", "outbox", "others")
    with pytest.raises(SetupError, match="for table events"):
        SqliteInstaller("app", "others", foreign.url, table).install(None)
    (found,) = SqliteInstaller("app", "others", foreign.url, table).inspect().errors
    assert "is on table events" in found.what


def test_a_missing_trigger_is_found_and_its_rows_are_counted(foreign: SqliteSubject) -> None:
    foreign.commit(("history", 1))
    foreign.installer().install(None)
    foreign.commit(("seen", 1))
    assert foreign.installer().bypassed(100) == 0
    foreign.run("DROP TRIGGER bridge_outbox_copy")
    foreign.commit(("unseen", 1), ("unseen", 2))
    (found,) = foreign.installer().inspect().errors
    assert "trigger bridge_outbox_copy does not exist" in found.what
    assert foreign.installer().bypassed(100) == 2
    assert foreign.installer().bypassed(1) == 1


def test_roles_are_refused(ours: SqliteSubject) -> None:
    with pytest.raises(SetupError, match="no roles"):
        ours.installer().install("relay")


def test_a_table_without_rowids_can_be_installed_on(foreign: SqliteSubject) -> None:
    foreign.run("DROP TABLE events")
    foreign.run(
        "CREATE TABLE events (persistence_id TEXT, sequence_nr INTEGER, payload TEXT, tags TEXT,"
        " timestamp INTEGER, PRIMARY KEY (persistence_id, sequence_nr)) WITHOUT ROWID"
    )
    foreign.installer().install(None)
    foreign.commit(("p", 1))
    assert len(Reading(foreign).poll()) == 1
    assert foreign.installer().bypassed(100) == 0
