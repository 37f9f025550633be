"""PostgreSQL killed under load: nothing durable is lost, nothing that vanished stays published."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hostile.relays import Relay
from tests.integration.load import Load
from tests.integration.stage import Stage
from tests.services import KafkaBroker, PostgresFactory, PostgresServer
from tests.waiting import wait_until

_ROWS_BETWEEN = 250
_UNFLUSHED = {"synchronous_commit": "off", "wal_writer_delay": "10s"}


@pytest.mark.parametrize(
    ("settings", "kills"),
    [
        pytest.param({}, 2, id="synchronous"),
        pytest.param(_UNFLUSHED, 3, id="unflushed"),
        pytest.param({}, 12, id="synchronous-many", marks=pytest.mark.slow),
        pytest.param(_UNFLUSHED, 12, id="unflushed-many", marks=pytest.mark.slow),
    ],
)
def test_a_crash_of_the_database_loses_nothing_and_leaves_nothing_that_vanished(
    settings: Mapping[str, str],
    kills: int,
    *,
    private_postgres: PostgresFactory,
    kafka: KafkaBroker,
    app: str,
    tmp_path: Path,
) -> None:
    server = private_postgres(settings)
    stage = Stage(tmp_path, server.create_database(), kafka.bootstrap_servers, app)
    with stage.relay() as relay:
        with Load(stage.url, asynchronous=bool(settings)) as load:
            for _ in range(kills):
                _crash(server, stage, load, relay)
            _wait_for_more(load, relay)
        stage.wait_for(stage.stored())
        relay.check_alive()
    assert len(stage.stored()) > kills * _ROWS_BETWEEN // 4
    stage.judge()


def _crash(server: PostgresServer, stage: Stage, load: Load, relay: Relay) -> None:
    """With transactions just before that raise the snapshot's end and leave no trace."""
    _wait_for_more(load, relay)
    stage.wait_for_traffic(relay)
    with stage.connect() as connection:
        for _ in range(20):
            connection.execute("SELECT pg_current_xact_id()")
            connection.rollback()
            connection.execute("SELECT pg_current_xact_id()")
            connection.commit()
    server.kill()
    server.start()


def _wait_for_more(load: Load, relay: Relay) -> None:
    enough = load.committed + _ROWS_BETWEEN

    def reached() -> bool:
        relay.check_alive()
        return load.committed >= enough

    wait_until(reached, 60, f"{enough} rows")
