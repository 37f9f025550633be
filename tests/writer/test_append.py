"""Appending inside the caller's transaction, synchronously."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine, event, insert, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from bridge.errors import ConfigError
from bridge.writer import Event, InvalidEventError, SequenceConflictError, append
from bridge.writer.tables import bridge_events
from tests.writer.journal import WriterJournal

PLACED = Event(type="OrderPlaced", payload={"total": 5})
PAID = Event(type="OrderPaid", payload={})
ADD_ORDER = text("INSERT INTO orders (id) VALUES (:id)")


def test_every_field_is_stored_as_stated(journal: WriterJournal) -> None:
    stated = Event(
        type="OrderPlaced",
        payload={"näme": "a\0b", "n": [1, 2.5, None], "a": True},
        tags=["orders", "eu", "orders"],
        metadata={"traceparent": "00-ab-cd-01", "Note": "zwei\nZeilen"},
        timestamp_ms=-5,
        content_type="application/vnd.shop+json",
    )
    with journal.engine.begin() as connection:
        assert append(connection, "order-1", [stated], expected_sequence_nr=0) == 1
    (row,) = journal.rows()
    assert row._asdict() == {
        "persistence_id": "order-1",
        "sequence_nr": 1,
        "event_type": "OrderPlaced",
        "content_type": "application/vnd.shop+json",
        "payload": '{"näme":"a\\u0000b","n":[1,2.5,null],"a":true}'.encode(),
        "tags": ["orders", "eu"],
        "metadata": {"traceparent": "00-ab-cd-01", "Note": "zwei\nZeilen"},
        "timestamp_ms": -5,
    }


def test_payload_kinds_have_their_content_types_and_the_clock_is_asked_once(
    journal: WriterJournal,
) -> None:
    ticks = iter([1000, 2000])
    events = [
        Event(type="a", payload={}),
        Event(type="b", payload="grüß\0"),
        Event(type="c", payload=b"\x00\xff"),
    ]
    with journal.engine.begin() as connection:
        last = append(connection, "x", events, expected_sequence_nr=0, now_ms=lambda: next(ticks))
    assert last == 3
    assert [(r.content_type, r.payload, r.timestamp_ms) for r in journal.rows()] == [
        ("application/json", b"{}", 1000),
        ("text/plain;charset=utf-8", "grüß\0".encode(), 1000),
        ("application/octet-stream", b"\x00\xff", 1000),
    ]


@pytest.mark.parametrize("kind", ["connection", "session", "scoped"])
@pytest.mark.parametrize("commit", [True, False])
def test_events_share_the_fate_of_the_callers_transaction(
    journal: WriterJournal, kind: str, commit: bool
) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "connection": journal.engine.connect,
        "session": lambda: Session(journal.engine),
        "scoped": scoped_session(sessionmaker(journal.engine)),
    }
    target = makers[kind]()
    try:
        # The append comes first: nothing else has made the driver begin its transaction.
        assert append(target, "order-1", [PLACED, PAID], expected_sequence_nr=0) == 2
        target.execute(ADD_ORDER, {"id": "order-1"})
        assert append(target, "order-1", [PAID], expected_sequence_nr=2) == 3
        assert journal.rows() == []
        if commit:
            target.commit()
        else:
            target.rollback()
    finally:
        target.close()
    assert journal.numbers("order-1") == ([1, 2, 3] if commit else [])
    assert journal.orders() == (["order-1"] if commit else [])


def test_closing_without_commit_stores_nothing(journal: WriterJournal) -> None:
    with journal.engine.connect() as connection:
        append(connection, "order-1", [PLACED], expected_sequence_nr=0)
    assert journal.rows() == []


@pytest.mark.parametrize("expected", [0, 1, 3, 2**63 - 2])
def test_an_unmet_expectation_is_typed_and_leaves_the_transaction_usable(
    journal: WriterJournal, expected: int
) -> None:
    with journal.engine.begin() as connection:
        append(connection, "order-1", [PLACED, PAID], expected_sequence_nr=0)
    with journal.engine.begin() as connection:
        connection.execute(ADD_ORDER, {"id": "kept"})
        with pytest.raises(SequenceConflictError, match="order-1") as caught:
            append(connection, "order-1", [PAID], expected_sequence_nr=expected)
        assert append(connection, "order-1", [PAID], expected_sequence_nr=2) == 3
    error = caught.value
    assert (error.persistence_id, error.expected, error.found) == ("order-1", expected, 2)
    assert journal.numbers("order-1") == [1, 2, 3]
    assert journal.orders() == ["kept"]


def test_without_expectation_events_follow_whatever_is_there(journal: WriterJournal) -> None:
    with journal.engine.begin() as connection:
        assert append(connection, "x", [PLACED], expected_sequence_nr=None) == 1
        assert append(connection, "x", [PAID, PAID], expected_sequence_nr=None) == 3
        assert append(connection, "y", [PLACED], expected_sequence_nr=None) == 1
    assert journal.numbers("x") == [1, 2, 3]


def test_no_events_still_check_the_expectation(journal: WriterJournal) -> None:
    with journal.engine.begin() as connection:
        append(connection, "x", [PLACED], expected_sequence_nr=0)
        assert append(connection, "x", [], expected_sequence_nr=1) == 1
        with pytest.raises(SequenceConflictError):
            append(connection, "x", [], expected_sequence_nr=0)
    assert journal.numbers("x") == [1]


def test_an_append_undone_by_the_callers_savepoint_is_gone(journal: WriterJournal) -> None:
    with Session(journal.engine) as session:
        append(session, "x", [PLACED], expected_sequence_nr=0)
        with session.begin_nested() as savepoint:
            append(session, "x", [PAID], expected_sequence_nr=1)
            savepoint.rollback()
        assert append(session, "x", [PAID], expected_sequence_nr=1) == 2
        session.commit()
    assert [row.event_type for row in journal.rows()] == ["OrderPlaced", "OrderPaid"]


def test_the_last_possible_sequence_number_is_not_passed(journal: WriterJournal) -> None:
    top = 2**63 - 1
    with journal.engine.begin() as connection:
        append(connection, "x", [PLACED], expected_sequence_nr=0)
        connection.execute(text("UPDATE bridge_events SET sequence_nr = :top"), {"top": top - 1})
        with pytest.raises(InvalidEventError, match="largest sequence number"):
            append(connection, "x", [PAID, PAID], expected_sequence_nr=None)
        assert append(connection, "x", [PAID], expected_sequence_nr=top - 1) == top
    assert journal.numbers("x") == [top - 1, top]


def test_autocommit_is_refused_and_stores_nothing(journal: WriterJournal) -> None:
    engine = journal.engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection, pytest.raises(ConfigError, match="AUTOCOMMIT"):
        append(connection, "x", [PLACED], expected_sequence_nr=0)
    assert journal.rows() == []


def test_an_engine_is_refused(journal: WriterJournal) -> None:
    with pytest.raises(ConfigError, match="Engine"):
        append(journal.engine, "x", [PLACED], expected_sequence_nr=0)  # type: ignore[arg-type]


def test_sqlite_with_explicit_begin_as_sqlalchemy_documents(lite_journal: WriterJournal) -> None:
    engine = create_engine(lite_journal.engine.url)
    event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with engine.connect() as connection:
        append(connection, "x", [PLACED], expected_sequence_nr=0)
        connection.rollback()
        append(connection, "y", [PLACED], expected_sequence_nr=0)
        connection.commit()
    engine.dispose()
    assert [row.persistence_id for row in lite_journal.rows()] == ["y"]


def test_schema_is_an_argument_or_the_connections_translation(pg_journal: WriterJournal) -> None:
    with pg_journal.engine.begin() as connection:
        connection.execute(text('CREATE SCHEMA "Shop"'))
        connection.execute(
            text('CREATE TABLE "Shop".bridge_events (LIKE bridge_events INCLUDING ALL)')
        )
        append(connection, "x", [PLACED], expected_sequence_nr=0, schema="Shop")
    translated = pg_journal.engine.execution_options(schema_translate_map={None: "Shop"})
    with translated.begin() as connection:
        append(connection, "x", [PAID], expected_sequence_nr=1)
        assert len(list(connection.execute(bridge_events.select()))) == 2
    assert pg_journal.rows() == []


def test_a_failure_that_is_no_conflict_is_not_called_one(pg_journal: WriterJournal) -> None:
    rule = "ALTER TABLE bridge_events ADD CHECK (event_type <> 'Forbidden')"
    with pg_journal.engine.begin() as connection:
        connection.execute(text(rule))
        with pytest.raises(IntegrityError, match="check constraint"):
            append(
                connection,
                "x",
                [PLACED, Event(type="Forbidden", payload={})],
                expected_sequence_nr=0,
            )
        assert append(connection, "x", [PLACED], expected_sequence_nr=0) == 1
    assert pg_journal.numbers("x") == [1]


def test_txid_is_the_top_level_transactions_even_inside_savepoints(
    pg_journal: WriterJournal,
) -> None:
    with Session(pg_journal.engine) as session:
        with session.begin_nested():
            session.execute(ADD_ORDER, {"id": "sub-transaction with an id of its own"})
            with session.begin_nested():
                append(session, "x", [PLACED], expected_sequence_nr=0)
        append(session, "x", [PAID], expected_sequence_nr=1)
        current = session.scalar(text("SELECT pg_current_xact_id()::text"))
        session.commit()
    with pg_journal.engine.connect() as connection:
        found = connection.scalars(text("SELECT txid::text FROM bridge_events")).all()
        orderings = connection.scalars(
            text("SELECT ordering FROM bridge_events ORDER BY sequence_nr")
        ).all()
    assert found == [current, current]
    assert orderings == sorted(set(orderings))


def test_a_foreign_insert_of_the_same_key_meets_the_primary_key(journal: WriterJournal) -> None:
    row = {
        "persistence_id": "x",
        "sequence_nr": 1,
        "event_type": "t",
        "content_type": "c",
        "payload": b"",
        "tags": [],
        "metadata": {},
        "timestamp_ms": 0,
    }
    with journal.engine.begin() as connection:
        append(connection, "x", [PLACED], expected_sequence_nr=0)
    with journal.engine.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(insert(bridge_events), [row])
