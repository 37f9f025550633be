"""An open transaction, wherever and of whatever kind, holds back its own rows and no other."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.hostile.events import Event
from tests.hostile.targets import BRIDGE, Connection
from tests.integration.stage import Stage, event_ids, rows
from tests.services import KafkaBroker, PostgresFactory, PostgresServer

_PROMPT_S = 5.0
"""Far above poll interval and commit, far below what any of these transactions lasts."""


def _expect_others_to_pass(stage: Stage, end: Callable[[], None], held: list[Event]) -> None:
    """While the transaction is open; then end it and expect its own rows behind them."""
    first, second = rows("free", 3), rows("free", 2, start=4)
    with stage.relay():
        for batch in (first, second):
            stage.append(batch)
            stage.wait_for(batch, _PROMPT_S)
        assert event_ids(stage.records()) == [e.id for e in first + second]
        end()
        stage.wait_for(held, _PROMPT_S)
    assert event_ids(stage.records()) == [e.id for e in first + second + held]
    stage.judge()


def test_an_open_transaction_of_the_journal_delays_no_other_row(stage: Stage) -> None:
    held = rows("held", 2)
    with stage.connect() as open_transaction:
        BRIDGE.append(open_transaction, held)
        _expect_others_to_pass(stage, open_transaction.commit, held)


def test_a_prepared_transaction_delays_no_other_row(stage: Stage) -> None:
    held = rows("held", 2)
    with stage.connect(autocommit=True) as application:
        application.execute("BEGIN")
        BRIDGE.append(application, held)
        application.execute(f"PREPARE TRANSACTION '{stage.app}'".encode())
        _expect_others_to_pass(stage, lambda: _commit_prepared(application, stage.app), held)


def _commit_prepared(connection: Connection, name: str) -> None:
    connection.execute(f"COMMIT PREPARED '{name}'".encode())


def test_an_open_transaction_of_another_database_delays_no_row(
    stage: Stage, postgres: PostgresServer
) -> None:
    other = postgres.create_database()
    try:
        with psycopg.connect(other) as open_transaction:
            open_transaction.execute("CREATE TABLE unrelated (n int)")
            open_transaction.execute("SELECT pg_current_xact_id()")
            _expect_others_to_pass(stage, open_transaction.rollback, [])
    finally:
        postgres.drop_database(other)


def test_a_transaction_whose_log_is_not_flushed_yet_delays_no_row(
    private_postgres: PostgresFactory, kafka: KafkaBroker, app: str, tmp_path: Path
) -> None:
    server = private_postgres({"synchronous_commit": "off", "wal_writer_delay": "10s"})
    stage = Stage(tmp_path, server.create_database(), kafka.bootstrap_servers, app)
    held = rows("held", 200)
    with stage.connect() as open_transaction:
        BRIDGE.append(open_transaction, held)
        assert _unflushed(stage) > 0
        _expect_others_to_pass(stage, open_transaction.commit, held)


def _unflushed(stage: Stage) -> int:
    with stage.connect(autocommit=True) as connection:
        row = connection.execute(
            "SELECT (pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn())::bigint"
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
def test_a_lower_number_that_commits_later_is_published_once(stage: Stage, restart: bool) -> None:
    early, late = rows("late", 1), rows("early", 1)
    with stage.connect() as slow:
        BRIDGE.append(slow, early)
        relay = stage.relay()
        try:
            stage.append(late)
            stage.wait_for(late)
            if restart:
                assert relay.terminate() == 0
                relay = stage.relay()
            slow.commit()
            stage.wait_for(early)
        finally:
            relay.discard()
    assert event_ids(stage.records()) == [late[0].id, early[0].id]
    stage.judge()


def test_no_effect_comes_before_its_cause_though_a_lower_transaction_commits_last(
    stage: Stage,
) -> None:
    a, b, c = rows("acct-A", 1), rows("acct-B", 1), rows("acct-C", 1)
    with stage.connect() as first, stage.relay() as relay:
        BRIDGE.append(first, a)
        stage.append(b)
        stage.wait_for(b)
        with stage.connect() as third:
            assert BRIDGE.head(third, "acct-B") == b[0].id
            BRIDGE.append(third, c)
        first.commit()
        stage.wait_for([*a, *c])
        relay.check_alive()
    order = event_ids(stage.records())
    assert order.index(b[0].id) < order.index(c[0].id)
    stage.judge()
