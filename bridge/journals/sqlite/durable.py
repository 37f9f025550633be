"""Making sure that what was read survives a power failure, whatever the writer's settings are.

A commit in WAL mode with ``synchronous=NORMAL``, or in rollback mode without ``EXTRA``, can be
taken back by a power failure (not by a crash of the program). Published rows must not vanish, and
their numbers must not be handed out again. Another program's PRAGMA cannot be seen from here, so
the relay flushes the files itself: all that a reader saw was written before, to one of them.
"""

import os
from contextlib import suppress

__all__ = ["flush_files"]

_SIDE_FILES = ("-wal", "-journal")

_kept: dict[tuple[int, int], int] = {}
"""Descriptors of database files by (device, inode), open until the process ends: closing any
descriptor of a file drops all POSIX locks that this process has on it, SQLite's own included."""


def flush_files(path: str) -> None:
    """Flush a database with its side files and its folder.

    The write-ahead log goes first: what a checkpoint moves out of it meanwhile is in the database
    file by the time that one is flushed. A rollback journal is flushed, and its removal with the
    folder, because it would undo the last commit when it came back.

    Raises:
        OSError: a file cannot be flushed.
    """
    for ending in _SIDE_FILES:
        with suppress(FileNotFoundError):
            _flush(path + ending)
    os.fsync(_descriptor(path))
    _flush(os.path.dirname(path))


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _descriptor(path: str) -> int:
    status = os.stat(path)
    key = (status.st_dev, status.st_ino)
    if key not in _kept:
        _kept[key] = os.open(path, os.O_RDONLY)
    return _kept[key]
