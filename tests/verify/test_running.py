"""Beside a running relay and running writers: no false alarm, and bounded memory."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.hostile.relays import Bridge, Relay
from tests.verify.shop import Shop
from tests.waiting import wait_until

PEAK_KIB = 200 * 1024


@contextmanager
def writing(shop: Shop) -> Iterator[list[int]]:
    """Two writers; commits overlap and every seventh transaction rolls back. Counts commits."""
    stop, commits = threading.Event(), [0, 0]

    def write(writer: int) -> None:
        number = 0
        with psycopg.connect(shop.url) as conn:
            for turn in range(1_000_000):
                if stop.is_set():
                    return
                conn.execute(
                    "INSERT INTO bridge_events"
                    " (persistence_id, sequence_nr, event_type, payload, tags, timestamp_ms)"
                    " SELECT %s, n, 't', '{}', '{red,blue}', 1700000000000"
                    " FROM generate_series(%s::bigint, %s::bigint) AS n",
                    [f"w{writer}", number + 1, number + 5],
                )
                if turn % 7 == 6:
                    conn.rollback()
                else:
                    conn.commit()
                    number += 5
                    commits[writer] += 1
                stop.wait(0.002)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield commits
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_running_relay_and_writers_give_no_false_alarm(shop: Shop) -> None:
    bridge = Bridge(shop.file, shop.file.parent / "relay.log")
    relay = Relay(bridge)
    try:
        with writing(shop) as commits:
            first = wait_until(lambda: shop.verify(code=0)["records"], 30, "the first records")
            records = [first]
            for _ in range(6):
                before = sum(commits)
                records.append(shop.verify(code=0)["records"])
                assert sum(commits) > before
            relay.check_alive()
    finally:
        relay.discard()
    assert records == sorted(records)
    assert records[-1] > records[0]
    shop.relay()
    report = shop.verify(code=0)
    assert report["records"] == 2 * report["rows"] == 2 * 5 * sum(commits)


@pytest.mark.slow
def test_memory_is_bounded(shop: Shop) -> None:
    for entity in range(200):
        shop.append(f"entity-{entity}", 1, 1000)
    shop.relay()
    program = (
        "import sys; from bridge.cli.exits import run;"
        f"code = run(['-c', {str(shop.file)!r}, 'verify']);"
        "print(open('/proc/self/status').read()); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200000 rows, 200000 records" in done.stdout
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert peak is not None
    assert int(peak[1]) < PEAK_KIB
