"""Ends and new beginnings: killed, stopped, started without servers."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.relays import Bridge, Relay, write_config
from tests.integration.stage import Stage, rows
from tests.services.ports import reserve_port
from tests.waiting import wait_until

_BACKLOG = 5000
_UNAVAILABLE = 4


def test_consumers_catch_up_at_once_after_each_kill_inside_a_transaction(stage: Stage) -> None:
    """The next relay ends its predecessor's transaction; nobody waits for a time-out."""
    for life in range(10):
        batch = [e for n in range(20) for e in rows(f"e-{n}", 40, start=life * 40 + 1)]
        stage.append(batch)
        with stage.relay() as relay:
            stage.wait_for_traffic(relay, 1)
            relay.kill()
        with stage.relay():
            stage.wait_for(batch, 10)
    stage.judge()


@pytest.mark.parametrize("stops", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_a_relay_told_to_stop_ends_cleanly_at_any_moment(stage: Stage, stops: int) -> None:
    stage.append([e for n in range(_BACKLOG // 50) for e in rows(f"e-{n}", 50)])
    rng = random.Random(stops)
    for _ in range(stops):
        with stage.relay() as relay:
            attached = relay.printed().count("attached")
            wait_until(_attached_again(relay, attached), 30, "the relay is at work")
            moment_s = time.monotonic() + rng.uniform(0, 0.6)
            wait_until(lambda at=moment_s: time.monotonic() >= at)  # type: ignore[misc]
            assert relay.terminate(10) == 0, relay.printed()
    stage.bridge.run("relay", "--until-caught-up")
    assert len(stage.records()) == _BACKLOG
    stage.judge()


def _attached_again(relay: Relay, before: int) -> Callable[[], bool]:
    return lambda: relay.printed().count("attached") > before


def test_large_events_are_relayed_in_little_memory(
    make_stage: Callable[..., Stage],
) -> None:
    stage = make_stage(more={"relay": {"batch_max_bytes": 2 * 1024 * 1024}})
    written = [e for n in range(20) for e in rows(f"e-{n}", 100, padding=200_000)]
    for first in range(0, len(written), 100):
        stage.append(written[first : first + 100])
    with stage.relay() as relay:
        wait_until(lambda: _length(stage, relay) >= len(written), 90, "all events")
        assert relay.peak_bytes() < 256 * 1024 * 1024
        assert relay.terminate() == 0
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge(written)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_million_events_drain_in_flat_memory_and_resume_in_the_middle(
    make_stage: Callable[..., Stage],
) -> None:
    total = 1_000_000
    stage = make_stage(more={"relay": {"batch_max_records": 5000}})
    with stage.connect() as connection:
        connection.execute(
            "INSERT INTO bridge_events "
            "(persistence_id, sequence_nr, event_type, payload, tags, timestamp_ms) "
            "SELECT 'e-' || n % 1000, 1 + n / 1000, 'happened', "
            'convert_to(format(\'{"id": ["e-%%s", %%s], "cause": null, "writer": 0}\', '
            "n % 1000, 1 + n / 1000), 'UTF8'), '{orders}', 1700000000000 + n "
            f"FROM generate_series(0, {total - 1}) n".replace("%%s", "%s").encode()
        )
    peaks = []
    for part in (total // 2, total):
        with stage.relay() as relay:
            wait_until(
                lambda part=part: _length(stage, relay) >= part,  # type: ignore[misc]
                300,
                f"{part} records",
            )
            peaks.append(relay.peak_bytes())
            assert relay.terminate() == 0
    assert max(peaks) < 256 * 1024 * 1024, peaks
    stage.bridge.run("relay", "--until-caught-up")
    stage.judge()


def _length(stage: Stage, relay: Relay) -> int:
    relay.check_alive()
    return stage.reader.log_length(stage.topic(), 1)


def test_a_server_out_of_reach_at_the_start_ends_the_relay_with_the_address(
    stage: Stage, tmp_path: Path
) -> None:
    """Both at once, for each takes the whole limit of the start."""
    port = reserve_port()
    try:
        nowhere = f"127.0.0.1:{port.number}"
        cases = {
            "kafka": (nowhere, stage.url),
            "postgresql": (stage.servers, f"postgresql://postgres@{nowhere}/shop"),
        }
        ended: dict[str, tuple[int, str]] = {}
        threads = [
            threading.Thread(target=_start, args=(tmp_path, name, *where, stage.app, ended))
            for name, where in cases.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        port.release()
    for name in cases:
        code, said = ended[name]
        assert code == _UNAVAILABLE, said
        assert name in said.lower(), said
        assert str(port.number) in said, said
        assert "→" in said, said


def _start(
    folder: Path, name: str, servers: str, url: str, app: str, ended: dict[str, tuple[int, str]]
) -> None:
    bridge = Bridge(folder / f"{name}.yaml", folder / f"{name}.log")
    journal = {"url": url, "layout": "bridge"}
    write_config(
        bridge.config, app=f"{app}-{name}", bootstrap_servers=servers, journal=journal, partitions=1
    )
    with Relay(bridge) as relay:
        ended[name] = (relay.wait(50), relay.printed())
