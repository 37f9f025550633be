"""The demonstration without any server."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.demo.command import environment, run_demo, start_demo
from tests.waiting import wait_until

PROMISE = {"lost": 0, "duplicated": 0, "inverted": 0, "unexpected": 0, "verified": True}


def _require_kept(found: Any) -> None:
    """The promise of bridge, and numbers that fit together."""
    appended, models = found["appended"], found["read_model"]
    assert found["bridge"] == {"delivered": appended, **PROMISE}
    assert models["bridge"] == {**models["journal"], "differing": 0}
    assert models["journal"]["deposits"] == appended
    assert found["usual_way"]["delivered"] + found["usual_way"]["lost"] == appended
    assert models["usual_way"]["deposits"] == found["usual_way"]["delivered"]
    assert found["clean"] is True


def test_the_usual_way_loses_events_and_bridge_does_not(tmp_path: Path) -> None:
    answer = run_demo(tmp_path, "--events", "600", "--json")
    assert answer.code == 0, answer.err
    found = answer.json
    _require_kept(found)
    assert found["appended"] == 600
    assert found["usual_way"]["lost"] > 0
    assert found["read_model"]["usual_way"]["differing"] > 0
    assert found["volatile_and_unfenced"] is True
    assert list(tmp_path.iterdir()) == []


def test_without_skew_the_usual_way_loses_little_and_the_table_says_so(tmp_path: Path) -> None:
    answer = run_demo(tmp_path, "--events", "600", "--fair", "--json")
    assert answer.code == 0, answer.err
    found = answer.json
    _require_kept(found)
    assert found["fair"] is True
    assert found["usual_way"]["lost"] <= 6


def test_without_a_terminal_there_are_plain_lines(tmp_path: Path) -> None:
    answer = run_demo(tmp_path, "--events", "800")
    assert answer.code == 0, answer.err
    assert "\r" not in answer.err
    assert "\x1b" not in answer.err + answer.out
    assert all(" s  appended " in line for line in answer.err.splitlines())
    assert 1 <= len(answer.err.splitlines()) <= 20
    (usual,) = [line for line in answer.out.splitlines() if line.endswith("0          0")][:1]
    assert usual.split()[:3] == ["the", "usual", "way"]
    assert "test cluster, inside this process: volatile, and\nwithout fencing" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 92


def test_a_terminal_shows_one_moving_line(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "bridge", "demo", "--events", "200"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=90,
        check=False,
    )
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    assert shown.count("\r") > 3
    assert shown.endswith("\r\x1b[K")
    assert "\n" not in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_behind_when_it_is_interrupted(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = start_demo(tmp_path, "--events", "20000")
    try:
        wait_until(lambda: list(tmp_path.glob("bridge-demo-*/readmodel.db")), 60, "its files")
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.split("\n") == ["", "bridge: interrupted", ""]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "mine.db"
    file.write_bytes(b"mine")
    answer = run_demo(tmp_path, "--journal", f"sqlite:///{file}")
    assert answer.code == 2
    assert f"{file} exists" in answer.err
    assert file.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [file]
