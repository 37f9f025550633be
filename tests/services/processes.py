"""Server processes and scratch folders that end with the test run."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.services.watchdog import Identity, alive, identify, kill_tree
from tests.waiting import wait_until

__all__ = ["ProcessRunner", "remove_folder", "scratch_folder"]

_STOP_LIMIT_S = 30.0
_LOG_TAIL_BYTES = 3000


@cache
def _watchdog() -> subprocess.Popen[str]:
    """This run's watchdog; started at first use, ends when this process does."""
    script = Path(__file__).with_name("watchdog.py")
    process = subprocess.Popen(
        [sys.executable, "-S", str(script)],
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(process.communicate)  # closes the pipe and waits until all is tidied up
    return process


def _order(line: str) -> None:
    pipe = _watchdog().stdin
    if pipe is None:
        raise RuntimeError("the watchdog has no pipe")
    pipe.write(line + "\n")
    pipe.flush()


def scratch_folder(prefix: str, owner: str | None = None) -> Path:
    """A new temporary folder, removed with the test run; `owner` is a user name."""
    folder = Path(tempfile.mkdtemp(prefix=f"bridge-{prefix}-"))
    if owner is not None:
        shutil.chown(folder, user=owner)
    _order(f"remove {folder}")
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a scratch folder before the end of the run."""
    shutil.rmtree(folder)
    _order(f"keep {folder}")


class ProcessRunner:
    """A locally installed server: one process tree, its folder and its log.

    Args:
        command: what to run; the same at every start, so a restart finds its data.
        folder: scratch folder of the server; removed by `close`.
        stop_signal: asks for an orderly shutdown.
        user: unprivileged user to run as; None for the current one.
        env: the whole environment; None for the current one.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        stop_signal: signal.Signals,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._command = list(command)
        self._folder = folder
        self._stop_signal = stop_signal
        self._user = user
        self._env = env
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._identity: Identity | None = None

    @property
    def running(self) -> bool:
        """True while the process exists, paused or not."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process; does not wait until it serves."""
        if self.running:
            raise RuntimeError(f"{self._command[0]} is already running")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                user=self._user,
                group=self._user,
                extra_groups=None if self._user is None else (),
                env=self._env,
                start_new_session=True,
            )
        self._identity = identify(self._process.pid)
        if self._identity is not None:
            _order("kill {} {}".format(*self._identity))

    def stop(self) -> None:
        """Orderly shutdown; SIGKILL when it takes too long."""
        process = self._process
        if process is None:
            return
        process.send_signal(self._stop_signal)
        try:
            process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._forget()

    def kill(self) -> None:
        """SIGKILL the process and all its children; returns when none of them is left."""
        if self._process is None:
            return
        victims = kill_tree(self._identity) if self._identity is not None else []
        self._process.wait(_STOP_LIMIT_S)
        wait_until(lambda: not any(map(alive, victims)), what="killed processes are gone")
        self._forget()

    def pause(self) -> None:
        """SIGSTOP: the process keeps its connections and does nothing."""
        os.kill(self._pid(), signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT: undo `pause`."""
        os.kill(self._pid(), signal.SIGCONT)

    def close(self) -> None:
        """Kill the server and remove its folder."""
        self.kill()
        remove_folder(self._folder)

    def log_tail(self) -> str:
        """The last lines that the server printed."""
        data = self._log.read_bytes() if self._log.exists() else b""
        return data[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def _pid(self) -> int:
        if self._process is None or not self.running:
            raise RuntimeError(f"{self._command[0]} is not running")
        return self._process.pid

    def _forget(self) -> None:
        if self._identity is not None:
            _order("spare {} {}".format(*self._identity))
        self._process = self._identity = None
