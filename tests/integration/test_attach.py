"""Attaching to a journal that others go on writing to: nothing is lost, nothing doubled."""

import json
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.hostile.events import Event, EventId
from tests.hostile.plans import ALL_EVENTS
from tests.hostile.targets import ACTOR_TS_COLUMNS, ACTOR_TS_OUTBOX, Target
from tests.hostile.writers import HostileWriters
from tests.integration.foreign import ForeignStage, Place, end_of, foreign_stage
from tests.integration.stage import TAG, event_ids, rows
from tests.services import KafkaBroker
from tests.waiting import wait_until

_SETUP, _OPERATOR = 3, 6
_WRITING_LIMIT_S = 120.0
_ENDLESS = 1_000_000
_SLOW = pytest.mark.slow
_BOTH = [ACTOR_TS_OUTBOX, ACTOR_TS_COLUMNS]

_A_DAY_MS = 86_400_000
_YESTERDAY_ENDS_MS = int(time.time()) * 1000 - _A_DAY_MS
"""Everything that a test writes now belongs to the later partition."""

_PARTITIONED = (
    "CREATE TABLE events (persistence_id text NOT NULL, sequence_nr bigint NOT NULL, "
    "payload text NOT NULL, tags text, timestamp bigint NOT NULL, "
    "PRIMARY KEY (persistence_id, sequence_nr, timestamp)) PARTITION BY RANGE (timestamp)",
    "CREATE TABLE events_past PARTITION OF events "
    f"FOR VALUES FROM (MINVALUE) TO ({_YESTERDAY_ENDS_MS})",
    f"CREATE TABLE events_now PARTITION OF events FOR VALUES FROM ({_YESTERDAY_ENDS_MS}) "
    "TO (MAXVALUE)",
    *ACTOR_TS_OUTBOX.foreign_tables[1:],
)
_TO_THE_PAST = f"UPDATE events SET timestamp = timestamp - {7 * _A_DAY_MS}"
_TO_THE_PRESENT = f"UPDATE events SET timestamp = timestamp + {7 * _A_DAY_MS}"
_ODD = "sequence_nr % 2 = 1"
_IN_THE_PAST = f"timestamp < {_YESTERDAY_ENDS_MS}"

_NUMBERING = (
    *ACTOR_TS_OUTBOX.foreign_tables,
    "CREATE TABLE heads (persistence_id text PRIMARY KEY, n bigint NOT NULL)",
    # Waits inside the trigger for whoever writes to the same entity: whatever is taken before, as
    # column defaults are, is out of order.
    """
    CREATE FUNCTION number_event() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO heads VALUES (NEW.persistence_id, 1)
      ON CONFLICT (persistence_id) DO UPDATE SET n = heads.n + 1 RETURNING n INTO NEW.sequence_nr;
      NEW.payload := replace(NEW.payload, '"?"', NEW.sequence_nr::text);
      RETURN NEW;
    END $$
    """,
    "CREATE TRIGGER number_event BEFORE INSERT ON events FOR EACH ROW "
    "EXECUTE FUNCTION number_event()",
)
_INSERT_UNNUMBERED = (
    "INSERT INTO events (persistence_id, sequence_nr, payload, tags, timestamp) "
    "VALUES (%s, 0, %s, %s, %s)"
)


def _name(value: object) -> str | None:
    return value.name if isinstance(value, Target) else None


@pytest.fixture
def place(tmp_path: Path, database_url: str, kafka: KafkaBroker, app: str) -> Place:
    """On the shared servers."""
    return Place(tmp_path, database_url, kafka.bootstrap_servers, app)


class _Aged(Target):
    """A journal that held events of a time before the hostile writers, who do not know them."""

    def stored(self, url: str) -> dict[EventId, tuple[tuple[str, ...], bytes]]:
        """What was written by them."""
        found = super().stored(url).items()
        return {event_id: rest for event_id, rest in found if "past" not in event_id.persistence_id}


@pytest.mark.parametrize(
    ("target", "past", "part"),
    [
        (ACTOR_TS_OUTBOX, 3_000, 300),
        (ACTOR_TS_COLUMNS, 3_000, 300),
        pytest.param(ACTOR_TS_OUTBOX, 20_000, 5_000, marks=_SLOW),
        pytest.param(ACTOR_TS_COLUMNS, 20_000, 5_000, marks=_SLOW),
    ],
    ids=_name,
)
def test_a_running_writer_notices_nothing_and_loses_nothing(
    target: Target, past: int, part: int, place: Place
) -> None:
    """Installed in the middle of it all; the relay is killed inside the history."""
    aged = _Aged(**vars(target))
    with foreign_stage(place, aged, relay={"batch_max_records": 25}) as stage:
        earlier = [e for n in range(past // 100) for e in rows(f"past-{n}", 100, tags=[ALL_EVENTS])]
        stage.append(earlier)
        # Few writers: where some transaction is always open for long, no lock can be had.
        writers = HostileWriters(stage.writer_url, aged, _ENDLESS, writers=2)
        writers.start()
        try:
            _wait_for_more(writers, part)
            stage.attach()
            history = stage.history()
            _kill_inside_the_history(stage)
            with stage.relay() as relay:
                earlier += rows("past-1", 3, start=101, tags=[ALL_EVENTS])
                stage.append(earlier[-3:])
                _wait_for_more(writers, part)
                wait_until(lambda: len(stage.attached_at()) == 2, 60, "the second relay attached")
                written = earlier + _end(writers)
                assert relay.terminate() == 0
        finally:
            writers.abandon()
        stage.catch_up()
        assert len(history) >= past + part
        assert len(written) - len(history) >= part
        assert stage.attached_at()[1].startswith("history by time, behind")
        stage.require_sound(written, unordered=history)
        _require_history_first(stage, history)


def _wait_for_more(writers: HostileWriters, rows_more: int) -> None:
    enough = writers.committed + rows_more
    wait_until(
        lambda: writers.committed >= enough or not writers.running,
        _WRITING_LIMIT_S,
        f"{rows_more} rows more",
    )


def _end(writers: HostileWriters) -> list[Event]:
    """End the writers, each behind its transaction; all that they have committed."""
    writers.abandon()
    return writers.ground_truth(0)


def _kill_inside_the_history(stage: ForeignStage) -> None:
    with stage.relay() as relay:
        stage.wait_for_log(relay, ALL_EVENTS, 30)
        relay.kill()


def _require_history_first(stage: ForeignStage, history: set[EventId]) -> None:
    ids = event_ids(stage.records(ALL_EVENTS))
    assert set(ids[: len(history)]) == history
    continued = {event_id.persistence_id for event_id in ids[len(history) :]}
    assert continued & {event_id.persistence_id for event_id in history}


@pytest.mark.parametrize(
    "target", [pytest.param(ACTOR_TS_OUTBOX, marks=_SLOW), ACTOR_TS_COLUMNS], ids=_name
)
def test_numbers_that_the_writers_own_trigger_assigns_stay_in_order(
    target: Target, place: Place
) -> None:
    target = replace(target, foreign_tables=_NUMBERING)
    with foreign_stage(place, target) as stage:
        before = _write_unnumbered(stage, seconds=0.5)
        stage.attach()
        with stage.relay() as relay:
            after = _write_unnumbered(stage, seconds=2.5)
            assert relay.terminate() == 0
        stage.catch_up()
        assert before
        assert after > 200
        written = _stored(stage)
        assert len(written) == before + after
        stage.require_sound(written)


def _write_unnumbered(stage: ForeignStage, seconds: float) -> int:
    """Six sessions that meet at three entities; how many events they committed."""
    end_s = time.monotonic() + seconds
    committed: list[int] = []

    def write(seed: int) -> None:
        rng = random.Random(seed)
        with stage.connect(autocommit=True) as connection:
            while time.monotonic() < end_s:
                entities = sorted(rng.choices(("a", "b", "c"), k=rng.randint(1, 4)))
                undo = rng.random() < 0.2
                with connection.transaction(force_rollback=undo):
                    for entity in entities:
                        _insert_unnumbered(connection, entity, seed)
                    connection.execute("SELECT pg_sleep(%s)", [rng.choice((0, 0, 0.01))])
                committed.append(0 if undo else len(entities))

    _run_all([threading.Thread(target=write, args=(seed,)) for seed in range(6)])
    return sum(committed)


def _insert_unnumbered(
    connection: psycopg.Connection[tuple[object, ...]], pid: str, n: int
) -> None:
    payload = json.dumps({"id": [pid, "?"], "cause": None, "writer": n})
    now_ms = time.time_ns() // 1_000_000
    connection.execute(_INSERT_UNNUMBERED, [pid, payload, TAG, now_ms])


def _run_all(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _stored(stage: ForeignStage) -> list[Event]:
    """What the journal holds, as events."""
    stored = stage.target.stored(stage.url).items()
    events = [
        Event(event_id, tags, None, json.loads(payload)["writer"])
        for event_id, (tags, payload) in stored
    ]
    assert [event.payload for event in events] == [payload for _, (_, payload) in stored]
    return events


@pytest.mark.parametrize("target", _BOTH, ids=_name)
def test_rows_moved_between_partitions_stay_single_events(target: Target, place: Place) -> None:
    """Moved while the relay is at work, while none is, and moved back."""
    target = replace(target, foreign_tables=_PARTITIONED)
    with foreign_stage(place, target) as stage:
        stage.attach()
        writers = HostileWriters(stage.writer_url, target, 2_000, writers=4)
        moved = 0
        with stage.relay() as relay:
            writers.start()
            try:
                while writers.running:
                    _wait_for_more(writers, 150)
                    relay.check_alive()
                    moved += stage.execute(f"{_TO_THE_PAST} WHERE NOT {_IN_THE_PAST}")
                    moved += stage.execute(f"{_TO_THE_PRESENT} WHERE {_IN_THE_PAST} AND {_ODD}")
                written = writers.ground_truth(_WRITING_LIMIT_S)
            finally:
                writers.abandon()
            assert relay.terminate() == 0
        assert moved > len(written)
        assert stage.execute(f"{_TO_THE_PAST} WHERE NOT {_IN_THE_PAST}") > 0
        stage.catch_up()
        assert stage.execute(f"{_TO_THE_PRESENT} WHERE {_IN_THE_PAST}") > 0
        stage.catch_up()
        stage.require_sound(written)


def test_a_history_row_moved_after_its_publication_is_not_published_again(place: Place) -> None:
    target = replace(ACTOR_TS_COLUMNS, foreign_tables=_PARTITIONED)
    with foreign_stage(place, target) as stage:
        history = [event for n in range(5) for event in rows(f"e-{n}", 40)]
        stage.append(history)
        stage.attach()
        stage.catch_up()
        live = rows("e-1", 3, start=41)
        stage.append(live)
        assert stage.execute(f"{_TO_THE_PAST} WHERE NOT {_IN_THE_PAST}") == len(history + live)
        stage.catch_up()
        assert stage.history() == {event.id for event in history}
        stage.require_sound(history + live)


@pytest.mark.parametrize(
    "target", [ACTOR_TS_OUTBOX, pytest.param(ACTOR_TS_COLUMNS, marks=_SLOW)], ids=_name
)
def test_rows_written_while_triggers_are_disabled_are_counted_and_named(
    target: Target, place: Place
) -> None:
    with foreign_stage(place, target) as stage:
        stage.append(rows("old", 2))
        stage.attach()
        seen = rows("p", 3)
        stage.append(seen)
        stage.catch_up()
        stage.execute("ALTER TABLE events DISABLE TRIGGER ALL")
        stage.append(rows("past-the-trigger", 5))
        _require_named(stage, bypassed=5, disabled=True)
        refused = end_of(stage.bridge, "relay", "--until-caught-up")
        assert (refused.code, "disabled" in refused.err) == (_SETUP, True), refused
        stage.attach()  # repairs the trigger; what was written past it stays counted
        later = rows("p", 2, start=4)
        stage.append(later)
        stage.catch_up()
        _require_named(stage, bypassed=5, disabled=False)
        published = {event.id.persistence_id for event in seen} | {"old"}
        ids = event_ids(stage.records(TAG))
        assert {event_id.persistence_id for event_id in ids} == published
        assert len(ids) == 2 + len(seen) + len(later)
        verified = end_of(stage.bridge, "verify", "--json")
        assert (verified.code, verified.json["missing"]) == (1, 5), verified


def _require_named(stage: ForeignStage, *, bypassed: int, disabled: bool) -> None:
    """`status` asks for a decision, `check` calls it an error of the setup."""
    status = end_of(stage.bridge, "status", "--json")
    assert status.code == _OPERATOR, status
    checked = end_of(stage.bridge, "check", "--connect", "--json")
    assert checked.code == _SETUP, checked
    errors = [c["what"] for c in checked.json["checks"] if c["level"] == "error"]
    assert any("disabled" in what for what in errors) == disabled, errors
    assert status.json["journals"][0]["bypassed"] == {"rows": bypassed, "at_least": False}
