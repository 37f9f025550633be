"""Exit codes and messages of the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bridge.cli.exits import run
from bridge.cli.group import bridge
from bridge.errors import (
    BridgeError,
    ConfigError,
    FencedError,
    OperatorError,
    SetupError,
    UnavailableError,
)
from tests.config.build import SOUND

FAILURES: dict[str, tuple[BaseException, int]] = {
    "config": (ConfigError("w", hint="h"), 2),
    "setup": (SetupError("w", hint="h"), 3),
    "unavailable": (UnavailableError("w", hint="h"), 4),
    "fenced": (FencedError("w", hint="h"), 5),
    "operator": (OperatorError("w", hint="h"), 6),
    "base": (BridgeError("w", hint="h"), 70),
    "internal": (RuntimeError("w password=s3cr3t postgresql://u:s3cr3t@h/db"), 70),
    "interrupt": (KeyboardInterrupt(), 130),
    "verdict": (click.exceptions.Exit(1), 1),
    "usage": (click.UsageError("w"), 2),
}


@pytest.fixture
def failing() -> Iterator[None]:
    """Add the command `fail KIND`, which raises the failure of that kind."""

    @bridge.command("fail")
    @click.argument("kind")
    def fail(kind: str) -> None:
        raise FAILURES[kind][0]

    yield
    del bridge.commands["fail"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("kind", FAILURES)
def test_exit_code_says_what_the_caller_must_do(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error, code = FAILURES[kind]
    assert run(["fail", kind]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    if isinstance(error, BridgeError):
        assert err == "bridge: w\n  → h\n"


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(("level", "traced"), [("info", False), ("debug", True)])
def test_internal_error_shows_type_and_message_but_no_secret(
    level: str, traced: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--log-level", level, "fail", "internal"]) == 70
    err = capsys.readouterr().err
    assert "internal error: RuntimeError: w" in err
    assert ("Traceback" in err) is traced
    assert ("--log-level debug" in err) is not traced
    assert "s3cr3t" not in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["version"], 0),
        (["--help"], 0),
        (["config", "show", "--help"], 0),
        ([], 2),
        (["nonsense"], 2),
        (["--log-level", "loud", "version"], 2),
        (["config", "show"], 2),
        (["-c", "absent.yaml", "config", "show"], 2),
    ],
)
def test_usage(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == code
    out, err = capsys.readouterr()
    assert bool(out) is (code == 0)
    assert bool(err) is (code != 0)


def write_secretive(path: Path) -> None:
    text = SOUND.replace("bridge@localhost", "bridge:s3cr3t@localhost")
    properties = "{sasl.password: s3cr3t, ssl.key.password: s3cr3t, client.id: me}"
    path.write_text(text.replace("kafka:\n", f"kafka:\n  properties: {properties}\n"))


@pytest.mark.parametrize("as_json", [False, True])
def test_config_show_masks_secrets_and_names_origins(
    as_json: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_secretive(tmp_path / "bridge.yaml")
    monkeypatch.setenv("BRIDGE_RELAY__POLL_INTERVAL_MS", "30")
    assert run(["config", "show", *(["--json"] if as_json else [])]) == 0
    out, err = capsys.readouterr()
    assert "s3cr3t" not in out + err
    assert out.count("***") == 3
    assert "postgresql://bridge:***@localhost/shop" in out
    if as_json:
        rows = {tuple(row["key"]): (row["value"], row["origin"]) for row in json.loads(out)}
        assert rows["app",] == ("shop", "bridge.yaml line 1")
        assert rows["relay", "poll_interval_ms"][0] == 30
        assert rows["relay", "on_poison"] == ("park", "default")
    else:
        assert "  # environment BRIDGE_RELAY__POLL_INTERVAL_MS" in out
        assert "  # bridge.yaml line 3" in out


def test_shown_text_is_yaml_that_means_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bridge.yaml"
    path.write_text(SOUND + "topics: {map: {'a: b': t}}\n")
    assert run(["config", "show"]) == 0
    first = capsys.readouterr().out
    path.write_text(first)
    assert run(["config", "show"]) == 0
    strip = [line.split("  # ")[0].rstrip() for line in capsys.readouterr().out.splitlines()]
    assert strip == [line.split("  # ")[0].rstrip() for line in first.splitlines()]


def test_file_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_secretive(tmp_path / "other.yaml")
    monkeypatch.setenv("BRIDGE_CONFIG", str(tmp_path / "other.yaml"))
    assert run(["config", "show"]) == 0
    assert "other.yaml line 1" in capsys.readouterr().out


def test_module_runs_as_a_process_and_returns_the_code() -> None:
    command = [sys.executable, "-m", "bridge", "-c", "absent.yaml", "config", "show"]
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=_env())
    assert process.returncode == 2
    assert process.stderr.startswith("bridge: configuration: cannot read absent.yaml")


def test_commands_import_nothing_heavy_before_they_run() -> None:
    heavy = "{'confluent_kafka', 'pydantic', 'psycopg', 'ruamel', 'sqlalchemy', 'structlog'}"
    code = f"import sys, bridge.cli; print(sorted({heavy} & set(sys.modules)))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_env()
    )
    assert process.stdout == "[]\n"


def _env() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path)}
