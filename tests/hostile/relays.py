"""The relay as its users run it: a process with a configuration file. And its killer."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ruamel.yaml import YAML

from tests.waiting import wait_until

__all__ = ["Bridge", "Moment", "Relay", "draw_moment", "write_config"]

_ROOT = Path(__file__).parents[2]
_LOG_TAIL = 4000
_LONGEST_LIFE_S = 10.0


def write_config(
    path: Path,
    *,
    app: str,
    bootstrap_servers: str,
    journal: Mapping[str, str],
    partitions: int,
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """A configuration with one journal, `orders`; batches are small so that there are many.

    Args:
        more: further keys of a section, by its name.
    """
    config: dict[str, Any] = {
        "app": app,
        "kafka": {"bootstrap_servers": bootstrap_servers},
        "journals": {"orders": dict(journal)},
        "topics": {"name": "{app}.{tag}", "partitions": partitions},
        "relay": {"batch_max_records": 500},
    }
    for section, keys in (more or {}).items():
        config[section] |= keys
    YAML(typ="safe").dump(config, path)


@dataclass(frozen=True)
class Bridge:
    """The command `bridge -c FILE` as a subprocess.

    Attributes:
        config: its configuration file.
        log: where its relays write what they print.
        root: folder whose `bridge` package is run.
    """

    config: Path
    log: Path
    root: Path = _ROOT

    def run(self, *arguments: str, timeout_s: float = 60.0) -> str:
        """Run a command to its end; its standard output.

        Raises:
            AssertionError: it ended with anything but 0; holds what it printed.
        """
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        said = f"{done.stdout}\n{done.stderr}"[-_LOG_TAIL:]
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{said}"
        return done.stdout

    def verify(self) -> dict[str, Any]:
        """The report of `verify --json`; it has found no difference."""
        report = json.loads(self.run("verify", "--json"))
        assert isinstance(report, dict)
        return report

    def command(self, *arguments: str) -> list[str]:
        """Its command line."""
        return [sys.executable, "-m", "bridge", "-c", str(self.config), *arguments]

    def environment(self) -> dict[str, str]:
        """Ours without what would change its configuration."""
        return {k: v for k, v in os.environ.items() if not k.startswith("BRIDGE_")}


class Relay:
    """One life of `bridge relay`, from its start to its death by our hand.

    As a context manager it does not outlive the block.

    Args:
        command: what to run instead.
    """

    def __init__(self, bridge: Bridge, *command: str) -> None:
        self._log = bridge.log
        with bridge.log.open("ab") as log:
            self._process = subprocess.Popen(
                bridge.command(*command or ("relay",)),
                cwd=bridge.root,
                env=bridge.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def check_alive(self) -> None:
        """Raises AssertionError, with the end of its log, when it ended by itself."""
        code = self._process.poll()
        assert code is None, f"the relay ended by itself with {code}:\n{self._log_tail()}"

    def kill(self) -> None:
        """SIGKILL; it must have lived until then."""
        self.check_alive()
        self._process.kill()
        code = self._process.wait(timeout=30)
        assert code == -signal.SIGKILL, f"the relay ended with {code}:\n{self._log_tail()}"

    def terminate(self, timeout_s: float = 30.0) -> int:
        """SIGTERM; its exit code. It must have lived until then."""
        self.check_alive()
        self._process.terminate()
        return self._process.wait(timeout_s)

    def wait(self, timeout_s: float = 30.0) -> int:
        """Its exit code, once it ends by itself."""
        return self._process.wait(timeout_s)

    def pause(self) -> None:
        """Freeze it: SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End a `pause`: SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def peak_bytes(self) -> int:
        """The most memory that it has held so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def printed(self) -> str:
        """All that was printed to its log, by earlier lives too."""
        return self._log.read_text(errors="replace")

    def discard(self) -> None:
        """End it however it is; for a run that has failed."""
        self._process.kill()
        self._process.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()

    def _log_tail(self) -> str:
        return self._log.read_bytes()[-_LOG_TAIL:].decode(errors="replace")


@dataclass(frozen=True)
class Moment:
    """When to kill a relay.

    Attributes:
        records: once the log has grown by so many records since its start, committed or not; this
            lands in the middle of transactions.
        after_s: or at the latest after so long.
    """

    records: int | None
    after_s: float

    def wait(self, relay: Relay, log_length: Callable[[], int]) -> None:
        """Return at the moment; the relay must live until then."""
        latest_s = time.monotonic() + self.after_s
        start = 0 if self.records is None else log_length()

        def reached() -> bool:
            relay.check_alive()
            grown = self.records is not None and log_length() - start >= self.records
            return grown or time.monotonic() >= latest_s

        wait_until(reached, self.after_s + _LONGEST_LIFE_S, "the moment of the kill")


def draw_moment(rng: random.Random) -> Moment:
    """A random moment: at start, between transactions, inside one."""
    if rng.random() < 0.3:
        return Moment(None, rng.uniform(0.1, 2.0))
    return Moment(rng.randint(1, 1200), _LONGEST_LIFE_S)
