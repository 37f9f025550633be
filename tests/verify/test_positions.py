"""What the cursor's position says about each row, on both databases."""

import sqlite3
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from bridge.core.cursor import Cursor, JournalIdentity
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS, PgSnapshot
from bridge.errors import OperatorError, SetupError
from bridge.journals.postgres.table import JournalTable
from bridge.verify.postgres import PostgresSource
from bridge.verify.source import RowState, VerifySource
from bridge.verify.sqlite import SqliteSource
from tests.verify.shop import Shop

E, P, B = RowState.EXPECTED, RowState.PENDING, RowState.BEFORE_START


def cursor(position: Position, origin: Position | None = None) -> Cursor:
    identity = JournalIdentity("system", 1, None)
    return Cursor("app", "j", 0, 1, "me", identity, origin or position, position, (), 0, 1)


def states(source: VerifySource) -> list[int]:
    found = sorted(source.rows())
    source.close()
    return [row.state for row in found]


@pytest.mark.parametrize(
    ("after", "expected"), [(None, [E, P, P, P]), (1, [E, E, P, P]), (2, [E, E, E, P])]
)
def test_a_window_in_progress_is_published_up_to_its_place(
    shop: Shop, after: int | None, expected: list[RowState]
) -> None:
    shop.append("a", 1, 1)
    old = snapshot(shop)
    shop.append("a", 2, 3)
    new = snapshot(shop)
    shop.append("a", 4, 4)
    with psycopg.connect(shop.url) as conn:
        places = conn.execute("SELECT ordering FROM bridge_events ORDER BY ordering").fetchall()
    place = None if after is None else (places[after][0], "a", after + 1)
    table = JournalTable("bridge", None, "public", "bridge_events")
    position = WindowPosition(old, new, place)
    source = PostgresSource(shop.url, table, cursor(position, WindowPosition(GENESIS)))
    assert states(source) == expected


@pytest.mark.parametrize("install", ["outbox", "columns"])
@pytest.mark.parametrize("by_entity", [False, True])
def test_history_is_published_up_to_its_place(
    foreign_shop: Shop, install: str, by_entity: bool
) -> None:
    foreign_shop.configure({"layout": "actor-ts", "install": install})
    foreign_shop.append("a", 1, 2)
    foreign_shop.append("b", 1, 1)  # as old as a/1
    foreign_shop.init()
    foreign_shop.append("c", 1, 1)
    place = ("a", 2) if by_entity else (1700000000001, "b", 1)
    table = JournalTable("actor-ts", install, "public", "events")  # type: ignore[arg-type]
    source = PostgresSource(foreign_shop.url, table, cursor(HistoryPosition(by_entity, place)))
    assert states(source) == ([E, E, P, P] if by_entity else [E, P, E, P])


def test_a_cursor_of_another_ordering_is_refused(shop: Shop) -> None:
    table = JournalTable("bridge", None, "public", "bridge_events")
    with pytest.raises(OperatorError, match="sequence"):
        PostgresSource(shop.url, table, cursor(SequencePosition(1)))


def snapshot(shop: Shop) -> PgSnapshot:
    with psycopg.connect(shop.url) as conn:
        row = conn.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert row is not None
    return PgSnapshot.parse(row[0])


@pytest.fixture
def lite(tmp_path: Path) -> Path:
    """A file with both layouts: history a/1 and a/2, relayed rows b/1 and c/1, c/1 deleted."""
    file = tmp_path / "journal ?#.db"
    ddl = files("bridge").joinpath("journals/sqlite/sql/bridge.sql").read_text(encoding="utf-8")
    db = sqlite3.connect(file)
    db.executescript(
        ddl
        + """
        INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags,
                                   timestamp_ms)
        VALUES ('a', 1, 't', '{}', '["x,y", "é"]', 1), ('a', 2, 't', '{}', '[]', 1);
        CREATE TABLE events (persistence_id TEXT, sequence_nr INTEGER, payload TEXT, tags TEXT,
                             timestamp INTEGER, PRIMARY KEY (persistence_id, sequence_nr));
        CREATE TABLE events_meta (persistence_id TEXT PRIMARY KEY, deleted_to INTEGER);
        CREATE TABLE bridge_outbox (persistence_id TEXT, sequence_nr INTEGER, payload TEXT,
                                    tags TEXT, timestamp INTEGER,
                                    ordering INTEGER PRIMARY KEY AUTOINCREMENT,
                                    UNIQUE (persistence_id, sequence_nr));
        INSERT INTO events VALUES ('a', 1, '', 'x,,y', 1), ('a', 2, '', NULL, 2);
        INSERT INTO events VALUES ('b', 1, '', '', 1);
        INSERT INTO bridge_outbox VALUES ('b', 1, '', '', 1, 1), ('c', 1, '', 'x', 1, 2);
        INSERT INTO events_meta VALUES ('c', 1);
        """
    )
    db.close()
    return file


def test_sqlite_rows_of_our_own_layout(lite: Path) -> None:
    source = SqliteSource(
        lite, "bridge", "bridge_events", cursor(SequencePosition(1), SequencePosition(0))
    )
    rows = sorted(source.rows())
    assert rows == [(b"a", 1, ("x,y", "é"), E, False), (b"a", 2, (), P, False)]
    assert list(source.kept_from()) == [(b"a", 1)]
    source.close()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (None, [P, P, P, P]),
        (cursor(HistoryPosition(False)), [P, P, P, P]),
        (cursor(HistoryPosition(False, (1, "a", 1))), [E, P, P, P]),
        (cursor(HistoryPosition(True, ("a", 2))), [E, E, P, P]),
        (cursor(SequencePosition(1), HistoryPosition(False)), [E, E, E, P]),
        (cursor(SequencePosition(2), SequencePosition(1)), [B, B, B, E]),
    ],
)
def test_sqlite_rows_of_an_outbox(lite: Path, at: Cursor | None, expected: list[RowState]) -> None:
    assert states(SqliteSource(lite, "actor-ts", "events", at)) == expected


def test_sqlite_tells_deleted_rows_and_what_is_kept(lite: Path) -> None:
    source = SqliteSource(lite, "actor-ts", "events", None)
    assert {(r.persistence_id, r.gone) for r in source.rows()} == {
        (b"a", False),
        (b"b", False),
        (b"c", True),
    }
    assert dict(source.kept_from()) == {b"a": 1, b"b": 1, b"c": 2}
    source.close()


def test_a_missing_sqlite_table_is_a_matter_of_setup(lite: Path) -> None:
    with pytest.raises(SetupError, match="no such table"):
        list(SqliteSource(lite, "actor-ts", "absent", None).rows())
