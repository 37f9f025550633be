"""Copies of a database: standbys that must have a row first, a promoted one, a restored one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.hostile.relays import Bridge, Relay
from tests.integration.foreign import end_of
from tests.integration.stage import Stage, event_ids, rows
from tests.integration.standby import Backup, Standby, primary_server, standby_of
from tests.services import KafkaBroker, PostgresServer
from tests.waiting import wait_until

_SETUP, _OPERATOR = 3, 6
_WITNESS_LIMIT_S = 60.0
_TAKE_ID = "SELECT pg_current_xact_id()::text::bigint"


@pytest.fixture(scope="module")
def primary() -> Iterator[PostgresServer]:
    """A primary that outlives the standbys."""
    with primary_server() as server:
        yield server


@dataclass(frozen=True)
class Places:
    """Where stages are set up."""

    folder: Path
    bootstrap_servers: str
    app: str

    def stage(self, url: str, **journal: Any) -> Stage:
        """A stage on this database, with further keys of its journal's section."""
        keys = {"url": url, "layout": "bridge", **journal}
        more = {"journals": {"orders": keys}}
        return Stage(self.folder, url, self.bootstrap_servers, self.app, more=more)


@pytest.fixture
def places(tmp_path: Path, kafka: KafkaBroker, app: str) -> Places:
    """On the shared brokers."""
    return Places(tmp_path, kafka.bootstrap_servers, app)


def _elsewhere(stage: Stage, url: str) -> Bridge:
    """The same relay with another address of its database."""
    yaml = YAML(typ="safe")
    config = yaml.load(stage.bridge.config)
    config["journals"]["orders"]["url"] = url
    path = stage.bridge.config.with_name("elsewhere.yaml")
    yaml.dump(config, path)
    return replace(stage.bridge, config=path, log=path.with_suffix(".log"))


def _database_of(url: str) -> str:
    return url.rpartition("/")[2]


def test_nothing_is_published_before_the_standby_has_it(
    primary: PostgresServer, places: Places
) -> None:
    with standby_of(primary) as standby:
        stage = places.stage(primary.create_database(), durability={"standbys": 1})
        first = rows("first", 3)
        stage.append(first)
        with stage.relay() as relay:
            stage.wait_for(first)
            _require_held_back(stage, standby, relay)
            assert relay.terminate() == 0
        assert len(stage.records()) == len(stage.stored())
        stage.judge()


def _require_held_back(stage: Stage, standby: Standby, relay: Relay) -> None:
    standby.freeze()
    try:
        committed = rows("held-back", 5)
        stage.append(committed)
        length = stage.reader.log_length(stage.topic(), 1)
        wait_until(lambda: "0 of 1 standbys" in relay.printed(), 30, "the relay gives up waiting")
        relay.check_alive()
        assert set(stage.stored()) >= set(committed)
        assert stage.reader.log_length(stage.topic(), 1) == length
    finally:
        standby.resume()
    stage.wait_for(committed)


def test_a_standby_is_refused_by_name(primary: PostgresServer, places: Places) -> None:
    stage = places.stage(primary.create_database())
    stage.append(rows("p", 2))
    with standby_of(primary) as standby:
        bridge = _elsewhere(stage, standby.server.url(_database_of(stage.url)))
        refused = end_of(bridge, "relay", "--until-caught-up")
        assert refused.code == _SETUP, refused
        assert "is a standby" in refused.err
        assert "writable primary" in refused.err
        checked = end_of(bridge, "check", "--connect")
        assert (checked.code, "standby" in checked.out) == (_SETUP, True), checked
    assert stage.reader.log_length(stage.topic(), 1) == 0


def test_a_promoted_standby_is_another_history(primary: PostgresServer, places: Places) -> None:
    """Rows that had been published before may be missing there, others have their numbers."""
    stage = places.stage(primary.create_database())
    stage.append(rows("p", 3))
    with standby_of(primary) as standby:
        stage.bridge.run("relay", "--until-caught-up")
        published = stage.reader.log_length(stage.topic(), 1)
        standby.promote()
        url = standby.server.url(_database_of(stage.url))
        promoted = _elsewhere(stage, url)
        _require_stopped(promoted, "timeline is 2, the cursor was written for 1")
        assert stage.reader.log_length(stage.topic(), 1) == published
        stage.append(rows("p", 1, start=4))
        stage.bridge.run("relay", "--until-caught-up")
        stage.judge()


def _require_stopped(bridge: Bridge, why: str) -> None:
    """The relay, `status` and `check` all say why this is not the cursor's database."""
    relay = end_of(bridge, "relay", "--until-caught-up")
    assert relay.code == _OPERATOR, relay
    assert why in relay.err
    status = end_of(bridge, "status")
    assert (status.code, why in status.out) == (_OPERATOR, True), status
    checked = end_of(bridge, "check", "--connect")
    assert (checked.code, why in checked.out) == (_SETUP, True), checked


def _before_the_first_relay(stage: Stage) -> None:
    """The copy holds no witness at all."""
    stage.append(rows("p", 3))


def _after_a_relay(stage: Stage) -> None:
    """The copy holds the first witness; a later cursor names a fresh one."""
    stage.append(rows("p", 3))
    stage.bridge.run("relay", "--until-caught-up")


@pytest.mark.parametrize(
    ("prepare", "renewals"),
    [
        pytest.param(
            _before_the_first_relay, 0, id="before-the-first-relay", marks=pytest.mark.slow
        ),
        pytest.param(_after_a_relay, 1, id="after-a-relay"),
    ],
)
def test_a_restored_database_that_was_written_to_since_is_told_by_its_witness(
    prepare: Callable[[Stage], None], renewals: int, places: Places
) -> None:
    """Same system, same timeline, and ahead of the cursor: nothing else tells."""
    with primary_server() as server:
        stage = places.stage(server.create_database())
        prepare(stage)
        backup = Backup(server)
        _publish_until_renewed(stage, renewals)
        published = event_ids(stage.records())
        newest = _use_ids(stage, 1)
        backup.put_back()
        wait_until(lambda: _use_ids(stage, 100) > newest + 10, 60, "more than the cursor knows")
        stage.append(rows("p", 5, start=4))
        _require_stopped(stage.bridge, "the witness that the cursor names is missing")
        assert event_ids(stage.records()) == published


def _publish_until_renewed(stage: Stage, renewals: int) -> None:
    """Let a relay publish rows that the copy lacks, the last ones under a fresh witness."""
    with stage.relay() as relay:
        witnesses = {wait_until(lambda: _witness(stage), 30, "a witness")}
        numbers = iter(range(1, 10_000))

        def renewed() -> bool:
            relay.check_alive()
            stage.append(rows("lost", 1, start=next(numbers)))
            witnesses.add(_witness(stage))
            return len(witnesses) > renewals

        wait_until(renewed, _WITNESS_LIMIT_S, f"{renewals} fresh witnesses")
        stage.append(rows("lost", 1, start=next(numbers)))  # read after the fresh one was written
        stage.wait_for(stage.stored())
        assert relay.terminate() == 0


def _use_ids(stage: Stage, number: int) -> int:
    """Take so many transaction ids, one at least; the last of them."""
    with stage.connect(autocommit=True) as connection:
        taken = [connection.execute(_TAKE_ID).fetchone() for _ in range(number)]
    last = taken[-1]
    assert last is not None
    return int(last[0])


def _witness(stage: Stage) -> str | None:
    query = "SELECT value FROM bridge_state WHERE app = %s AND key = 'witness'"
    with stage.connect() as connection:
        row = connection.execute(query, [stage.app]).fetchone()
    return None if row is None else str(row[0])
