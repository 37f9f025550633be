"""The promise to the read model: relay and projection are killed again and again, with SIGKILL.

The read model equals a fold of the journal; each event was applied exactly once and in order.
"""

import random
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hostile import read_model
from tests.hostile.relays import Bridge, Relay, write_config
from tests.hostile.targets import BRIDGE
from tests.hostile.writers import HostileWriters
from tests.services import KafkaBroker, PostgresServer
from tests.waiting import wait_until

_WRITING_LIMIT_S = 300.0
_LIFE_LIMIT_S = 60.0

Command = tuple[str, ...]

_RELAY: Command = ("relay",)
_PROJECTION: Command = ("project", read_model.TARGET)
_RANDOM_VICTIMS = tuple(random.Random(4).choices([_RELAY, _PROJECTION], k=20))


@pytest.mark.parametrize(
    ("rows", "victims"),
    [
        (3_000, (_RELAY, _PROJECTION, _RELAY)),
        pytest.param(20_000, _RANDOM_VICTIMS, marks=[pytest.mark.slow, pytest.mark.timeout(1_200)]),
    ],
    ids=["3-kills", "20-kills"],
)
def test_the_read_model_is_the_fold_of_the_journal(
    rows: int,
    victims: Sequence[Command],
    postgres: PostgresServer,
    database_url: str,
    kafka: KafkaBroker,
    app: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bridge = Bridge(tmp_path / "bridge.yaml", tmp_path / "bridge.log")
    write_config(
        bridge.config,
        app=app,
        bootstrap_servers=kafka.bootstrap_servers,
        journal={"url": database_url, **BRIDGE.journal},
        partitions=3,
    )
    model = postgres.create_database()
    monkeypatch.setenv(read_model.DATABASE, model)
    read_model.prepare(model)
    with BRIDGE.writer(database_url) as writer_url:
        bridge.run("init")
        BRIDGE.grant(database_url, writer_url)
        writers = HostileWriters(writer_url, BRIDGE, rows, seed=3)
        writers.start()
        try:
            _kill_all(bridge, model, victims, rows)
            written = writers.ground_truth(_WRITING_LIMIT_S)
        finally:
            writers.abandon()
    bridge.run("relay", "--until-caught-up")
    bridge.run(*_PROJECTION, "--until-caught-up", timeout_s=180)
    assert len(written) >= rows
    assert read_model.applied(model) == read_model.expected(written)
    postgres.drop_database(model)


def _kill_all(bridge: Bridge, model: str, victims: Sequence[Command], rows: int) -> None:
    """Kill one after the other, each at a random place, and start it again; none lives on."""
    rng = random.Random(len(victims))
    with ExitStack() as lives:
        living = {c: lives.enter_context(Relay(bridge, *c)) for c in (_RELAY, _PROJECTION)}
        for life, victim in enumerate(victims):
            enough = rows * (life + 1) // (len(victims) + 1) + rng.randint(0, 50)

            def reached(enough: int = enough) -> bool:
                for process in living.values():
                    process.check_alive()
                return read_model.number_applied(model) >= enough

            wait_until(reached, _LIFE_LIMIT_S, f"{enough} events are applied")
            living[victim].kill()
            living[victim] = lives.enter_context(Relay(bridge, *victim))
        assert living[_PROJECTION].terminate() == 0
