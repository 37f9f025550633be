"""What the tables of an SQLite journal look like, and what differs from what they must be."""

import re
import sqlite3

from bridge.journals.sqlite.table import quoted

__all__ = ["columns", "is_autoincrement", "table_exists", "without_rowid", "wrong_columns"]

_EVENTS = (
    "persistence_id",
    "sequence_nr",
    "event_type",
    "content_type",
    "payload",
    "tags",
    "metadata",
    "timestamp_ms",
)
_ACTOR_TS = ("persistence_id", "sequence_nr", "payload", "tags", "timestamp")
_NOT_A_KEYWORD = re.compile(
    r"""--[^\n]* | /\*.*?(?:\*/|\Z) | '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | \[[^\]]*\]""",
    re.VERBOSE | re.DOTALL,
)


def table_exists(conn: sqlite3.Connection, name: str) -> bool:
    """Whether there is a table (not a view) of this name."""
    return _sql_of(conn, name) is not None


def columns(conn: sqlite3.Connection, name: str) -> dict[str, int]:
    """Columns of a table, each with its place in the primary key, 0 for none."""
    found = conn.execute(f"PRAGMA table_xinfo({quoted(name)})")
    return {row[1]: row[5] for row in found}


def wrong_columns(conn: sqlite3.Connection, layout: str, name: str) -> list[str]:
    """The columns that a journal of this layout lacks in table `name`."""
    found = columns(conn, name)
    wanted = _EVENTS if layout == "bridge" else _ACTOR_TS
    return [f"column {column}: no such column" for column in wanted if column not in found]


def is_autoincrement(conn: sqlite3.Connection, name: str) -> bool:
    """Whether `ordering` is the table's AUTOINCREMENT key.

    SQLite allows that word on an INTEGER PRIMARY KEY only, and never WITHOUT ROWID.
    """
    text = _NOT_A_KEYWORD.sub(" ", _sql_of(conn, name) or "")
    keyword = re.search(r"\bAUTOINCREMENT\b", text, re.IGNORECASE)
    return keyword is not None and columns(conn, name).get("ordering") == 1


def without_rowid(conn: sqlite3.Connection, name: str) -> bool:
    """Whether a table has no implicit number."""
    text = _NOT_A_KEYWORD.sub(" ", _sql_of(conn, name) or "")
    return re.search(r"\bWITHOUT\s+ROWID\b", text, re.IGNORECASE) is not None


def _sql_of(conn: sqlite3.Connection, name: str) -> str | None:
    query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"
    row = conn.execute(query, (name,)).fetchone()
    return None if row is None else str(row[0])
