"""Rows behind a position that lies inside a window or inside the history."""

from urllib.parse import quote

import psycopg
import pytest

from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS, PgSnapshot
from bridge.errors import OperatorError
from bridge.journals.health import Lag
from bridge.journals.postgres.health import PostgresHealth
from bridge.journals.postgres.table import Install
from tests.journals.postgres.foreign import ForeignJournal


@pytest.mark.parametrize("how", ["outbox", "columns"])
def test_rows_behind_a_position(foreign: ForeignJournal, how: Install) -> None:
    writer = foreign.connect(foreign.writer)
    for nr in (1, 2, 3):
        foreign.append(writer, "history", nr)
    foreign.install(how)
    for nr in (1, 2):
        foreign.append(writer, "new", nr)
    end = _now(foreign)
    foreign.append(writer, "new", 3)
    orderings = {key: ordering for key, (_, ordering) in foreign.positions(how).items()}
    first = orderings["new", 1]
    assert first is not None
    expected: list[tuple[Position | None, int]] = [
        (None, 6),
        (HistoryPosition(by_entity=False), 6),
        (HistoryPosition(False, (1000, "history", 2)), 4),
        (HistoryPosition(True, ("history", 2)), 4),
        (HistoryPosition(True, ("history", 3)), 3),
        (WindowPosition(GENESIS), 3),
        (WindowPosition(GENESIS, end), 3),
        (WindowPosition(GENESIS, end, (first, "new", 1)), 2),
        (WindowPosition(end), 1),
    ]
    health = PostgresHealth("shop", "orders", foreign.url, foreign.table(how))
    try:
        for position, rows in expected:
            assert health.lag(position, 100) == Lag(rows, False, 1000, 1000), position
        assert health.lag(None, 2) == Lag(2, True, 1000, 1000)
        assert health.lag(WindowPosition(_now(foreign)), 100) == Lag(0, False, None, None)
        assert health.tags(100, 10) == ["blue", "red"]
        assert len(health.tags(100, 1)) == 1
        with pytest.raises(OperatorError, match="ordering `sequence`"):
            health.lag(SequencePosition(1), 1)
    finally:
        health.close()


def test_without_privileges_a_blocker_is_still_found(foreign: ForeignJournal) -> None:
    foreign.install("outbox", relay_role=foreign.relay)
    blocker = foreign.connect(foreign.writer, application="checkout")
    with blocker.transaction():
        foreign.append(blocker, "p", 1)
        with psycopg.connect(foreign.url, autocommit=True) as admin:
            foreign.run(admin, f"ALTER ROLE {_quoted(foreign.relay)} LOGIN")
        health = PostgresHealth("shop", "orders", _as(foreign), foreign.table("outbox"))
        try:
            [found] = health.blockers()
        finally:
            health.close()
    assert (found.pid, found.application) == (blocker.info.backend_pid, "checkout")
    assert found.transaction > 0
    assert (found.state, found.age_s) == (None, None)


def _now(foreign: ForeignJournal) -> PgSnapshot:
    [(text,)] = foreign.rows(foreign.connect(), "SELECT pg_current_snapshot()::text")
    return PgSnapshot.parse(text)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as(foreign: ForeignJournal) -> str:
    return foreign.url.replace("postgres@", f"{quote(foreign.relay)}@")
