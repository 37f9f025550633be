"""What is said at the end, and the exit code."""

import json
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bridge.cli.exits import run
from bridge.core.rows import RowKey
from bridge.demo.report import report_json, report_text
from bridge.demo.result import Result, Side
from bridge.demo.run import Options
from bridge.demo.tally import Balance, Tally
from bridge.demo.usual_way import Missed
from bridge.demo.writers import Committed

OPTIONS = Options("bridge-demo-test", 3, 1.0, fair=False, journal=None, kafka=None)
WHOLE = {"a": Balance(3, 30)}
GOOD = Side(Tally(3, 0, 0, 0, 0), WHOLE)
MISSED = Missed(Committed(RowKey("a", 2), 1_000, 1_250), cursor_ms=1_100)
LOSING = Side(Tally(2, 1, 0, 0, 0), {"a": Balance(2, 20)})
RESULT = Result(3, 1.0, WHOLE, usual=LOSING, bridge=GOOD, verified=True, example=MISSED)

BROKEN = {
    "lost": replace(RESULT, bridge=LOSING),
    "duplicated": replace(RESULT, bridge=Side(Tally(3, 0, 1, 0, 0), WHOLE)),
    "inverted": replace(RESULT, bridge=Side(Tally(3, 0, 0, 1, 0), WHOLE)),
    "unexpected": replace(RESULT, bridge=Side(Tally(3, 0, 0, 0, 1), WHOLE)),
    "not verified": replace(RESULT, verified=False),
    "read model wrong": replace(RESULT, bridge=Side(GOOD.tally, {"a": Balance(3, 31)})),
}


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def _command(monkeypatch: pytest.MonkeyPatch, result: Result, *arguments: str) -> int:
    monkeypatch.setattr("bridge.demo.run.run_demo", lambda *_: result)
    return run(["demo", *arguments])


def test_what_the_usual_way_loses_does_not_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _command(monkeypatch, RESULT) == 0
    shown = capsys.readouterr().out
    assert "The usual way has lost 1 event (33 %)." in shown
    assert "a/2" in shown
    assert "250 ms later" in shown
    assert "bridge has delivered every event once and in order" in shown


@pytest.mark.parametrize("how", BROKEN)
def test_whatever_bridge_has_not_kept_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    assert _command(monkeypatch, BROKEN[how]) == 1
    assert "BRIDGE HAS NOT KEPT ITS PROMISE" in capsys.readouterr().out
    assert _command(monkeypatch, BROKEN[how], "--json") == 1
    assert json.loads(capsys.readouterr().out)["clean"] is False


def test_a_usual_way_without_loss_is_not_accused() -> None:
    fair = replace(OPTIONS, fair=True)
    text = report_text(fair, replace(RESULT, usual=GOOD, example=None))
    assert "The usual way has lost nothing this time under --fair." in text
    assert "One of them" not in text


def test_real_brokers_are_not_called_volatile() -> None:
    real = replace(OPTIONS, kafka="k:9092")
    assert "test cluster" not in report_text(real, RESULT)
    assert report_json(real, RESULT)["volatile_and_unfenced"] is False
    assert report_json(OPTIONS, RESULT)["volatile_and_unfenced"] is True
