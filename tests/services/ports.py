"""Free ports on the loopback interface, below the ephemeral range."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

__all__ = ["ReservedPort", "reserve_port"]

_FIRST_PORT = 15_000
_LAST_PORT = 29_999  # outgoing connections take theirs from 32768 on
_TRIES = 500


class ReservedPort:
    """A port that no other test run takes, also while its server is down.

    The lock is on a file, so it goes with the process that holds it.
    """

    def __init__(self, number: int, lock_fd: int) -> None:
        self.number = number
        self._lock_fd = lock_fd

    def release(self) -> None:
        """Let others have it."""
        os.close(self._lock_fd)


def _lock(path: Path) -> int | None:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # another user's reservation
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _can_bind(number: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return False
    return True


def reserve_port() -> ReservedPort:
    """A random free port of 127.0.0.1, ours until it is released."""
    folder = Path(tempfile.gettempdir(), "bridge-test-ports")
    folder.mkdir(mode=0o777, exist_ok=True)
    for _ in range(_TRIES):
        number = random.randint(_FIRST_PORT, _LAST_PORT)
        fd = _lock(folder / str(number))
        if fd is None:
            continue
        if _can_bind(number):
            return ReservedPort(number, fd)
        os.close(fd)
    raise RuntimeError(f"no free port between {_FIRST_PORT} and {_LAST_PORT} on 127.0.0.1")
