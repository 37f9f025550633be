"""Connections to SQLite files, and the errors of the driver as ours."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from sqlalchemy.engine import make_url

from bridge.errors import BridgeError, OperatorError, SetupError, UnavailableError

__all__ = ["connect", "database_errors", "immediate", "path_of"]

BUSY_TIMEOUT_S = 5.0
"""How long another program's lock is waited for."""

_TRY_AGAIN = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_INTERRUPT,
    }
)
_WRONG_FILE = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_NO_RIGHT = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN}
)


def path_of(url: str) -> str:
    """Absolute path of the file in a ``sqlite:///path`` address.

    Raises:
        SetupError: the address names no file.
    """
    database = make_url(url).database
    if not database or database.startswith((":memory:", "file:")):
        raise SetupError(
            "a journal in SQLite must be a file: memory is not shared between processes",
            "write sqlite:////absolute/path/to/file",
        )
    return os.path.abspath(database)


def connect(url: str) -> sqlite3.Connection:
    """Open an existing file; never creates one.

    The connection begins no transaction by itself and may move between threads. What it commits is
    flushed to the disk.
    """
    path = path_of(url)
    if not os.path.exists(path):
        raise SetupError(
            f"SQLite: file {path} does not exist",
            "correct the path in the journal's url, or let the application create the file; an "
            "empty one will do for `bridge init`",
        )
    with database_errors(f"opening {path}"):
        conn = sqlite3.connect(
            f"file:{quote(path)}?mode=rw",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        # Other programs may have stored anything as text; what is not UTF-8 is judged row by row.
        conn.text_factory = _lenient_text
        # EXTRA flushes the folder as well, so that no journal file comes back to undo a commit.
        conn.execute("PRAGMA synchronous = EXTRA")
        return conn


@contextmanager
def immediate(conn: sqlite3.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from its beginning."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


@contextmanager
def database_errors(doing: str) -> Iterator[None]:
    """Turn errors of the driver into errors that say what the caller must do."""
    try:
        yield
    except sqlite3.Error as e:
        raise _error(e, doing) from None


def _error(error: sqlite3.Error, doing: str) -> BridgeError:
    what = f"SQLite: {doing}: {error}"
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in _TRY_AGAIN or (primary is None and isinstance(error, sqlite3.ProgrammingError)):
        return UnavailableError(what, "it goes on by itself once the file can be used again")
    if primary in _WRONG_FILE:
        return OperatorError(what, "the file is damaged or no database: restore it")
    if primary in _NO_RIGHT:
        return SetupError(what, "give the relay's user write access to the file and its folder")
    if isinstance(error, sqlite3.OperationalError):
        return SetupError(what, "run `bridge init`, or correct path, table and layout")
    return OperatorError(what, "`bridge check --connect` inspects the journal")


def _lenient_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
