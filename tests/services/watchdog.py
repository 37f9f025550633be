"""Kills what a test run started, also when the run itself was killed.

Runs as a process of its own (standard library only). It reads orders from a pipe whose other end
only the test run holds; when the pipe closes, the run is gone and everything still listed goes too.
Parent-death signals would not do: they fire when the *thread* that started a server ends.
"""

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["Identity", "alive", "identify", "kill_tree"]

Identity = tuple[int, str]
"""Process id and start time: a pair that is not reused."""


def _stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on (index 0); None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def identify(pid: int) -> Identity | None:
    """Identity of a running process; None when it is gone or only waits to be reaped."""
    fields = _stat_fields(pid)
    return None if fields is None or fields[0] in "ZX" else (pid, fields[19])


def alive(identity: Identity) -> bool:
    """True while exactly this process runs (or is stopped)."""
    return identify(identity[0]) == identity


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))) is not None:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found[1:]


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_tree(root: Identity) -> list[Identity]:
    """SIGKILL a process and all its descendants, as one crash; returns who was hit.

    The root is stopped first, so that it neither forks nor tidies up while its children die.
    """
    if not alive(root):
        return []
    _signal(root[0], signal.SIGSTOP)
    victims = [identity for pid in _descendants(root[0]) if (identity := identify(pid))]
    for pid, _ in [root, *victims]:
        _signal(pid, signal.SIGKILL)
    return [root, *victims]


def _watch(orders: Iterable[str]) -> None:
    processes: set[Identity] = set()
    directories: set[str] = set()
    for order in orders:
        verb, argument = order.rstrip("\n").split(" ", 1)
        match verb:
            case "kill" | "spare":
                pid, start_time = argument.split(" ")
                change = processes.add if verb == "kill" else processes.discard
                change((int(pid), start_time))
            case "remove":
                directories.add(argument)
            case "keep":
                directories.discard(argument)
    for identity in processes:
        kill_tree(identity)
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    _watch(sys.stdin)
