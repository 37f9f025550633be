"""Sorting on disk: a temporary SQLite database, since journals do not fit into memory."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from bridge.errors import UnavailableError
from bridge.verify.compare import Expected, Found

__all__ = ["Spill"]

CACHE_KIB = 16_384
"""Memory for pages, and for each sort before it goes to disk."""

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA temp_store = FILE;
CREATE TABLE expected (topic INTEGER, pid BLOB, seq INTEGER, state INTEGER, gone INTEGER);
CREATE TABLE found (
  topic INTEGER, pid BLOB, seq INTEGER, stray INTEGER, part INTEGER, off INTEGER, late INTEGER);
CREATE TABLE unexplained AS SELECT * FROM found;
CREATE TABLE set_aside (
  topic INTEGER, part INTEGER, off INTEGER, PRIMARY KEY (topic, part, off)) WITHOUT ROWID;
CREATE TABLE kept (pid BLOB PRIMARY KEY, kept_from INTEGER) WITHOUT ROWID;
"""

_EXPECTED = """
SELECT topic, pid, seq, min(state), min(gone) FROM expected
GROUP BY topic, pid, seq ORDER BY topic, pid, seq
"""
_FOUND = "SELECT * FROM found ORDER BY topic, pid, seq, stray, part, off"
_IN_ORDER = """
SELECT * FROM found AS f
WHERE NOT EXISTS (
  SELECT 1 FROM set_aside AS s WHERE s.topic = f.topic AND s.part = f.part AND s.off = f.off)
ORDER BY topic, pid, stray, part, off
"""
_UNEXPLAINED = """
SELECT u.*, coalesce(u.seq < kept.kept_from, 0) FROM unexplained AS u LEFT JOIN kept USING (pid)
ORDER BY u.topic, u.pid, u.seq, u.stray, u.part, u.off
"""


class Spill:
    """Everything that is compared, on disk until it is closed.

    Raises:
        UnavailableError: the folder for temporary files cannot take it.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bridge-verify-")
        file = Path(self._folder.name) / "spill.db"
        self._db = sqlite3.connect(file, isolation_level=None, cached_statements=16)
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._db.executescript(_TABLES)
        self._db.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._folder.cleanup()

    def add_expected(self, entries: Iterable[Expected]) -> None:
        """Store what should be in the topics."""
        self._insert("INSERT INTO expected VALUES (?, ?, ?, ?, ?)", entries)

    def add_found(self, records: Iterable[Found]) -> None:
        """Store what is in the topics."""
        self._insert("INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?)", records)

    def add_unexplained(self, record: Found) -> None:
        """Store a record that no row explains."""
        self._insert("INSERT INTO unexplained VALUES (?, ?, ?, ?, ?, ?, ?)", [record])

    def add_kept(self, kept: Iterable[tuple[bytes, int]]) -> None:
        """Store from which number on entities have kept their events."""
        self._insert("INSERT OR REPLACE INTO kept VALUES (?, ?)", kept)

    def set_aside(self, record: Found) -> None:
        """Leave a record out of `in_order`: it is wrong in another way already."""
        key = (record.topic, record.partition, record.offset)
        self._insert("INSERT OR IGNORE INTO set_aside VALUES (?, ?, ?)", [key])

    @property
    def has_unexplained(self) -> bool:
        """Whether there is a record that no row explains."""
        return self._db.execute("SELECT 1 FROM unexplained LIMIT 1").fetchone() is not None

    def expected(self) -> Iterator[Expected]:
        """What should be in the topics, sorted by key, each key once."""
        return map(Expected._make, self._select(_EXPECTED))

    def found(self) -> Iterator[Found]:
        """What is in the topics, sorted by key; of equal ones that in the right partition first."""
        return map(Found._make, self._select(_FOUND))

    def in_order(self) -> Iterator[Found]:
        """Records that were not set aside, sorted as they stand in their entity's partition."""
        return map(Found._make, self._select(_IN_ORDER))

    def unexplained(self) -> Iterator[tuple[Found, bool]]:
        """Records that no row explains, and whether the entity's owner has deleted up to there."""
        return ((Found._make(row[:7]), bool(row[7])) for row in self._select(_UNEXPLAINED))

    def _insert(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            self._db.executemany(statement, rows)
        except sqlite3.OperationalError as e:
            raise self._full(e) from e

    def _select(self, statement: str) -> Iterator[tuple[object, ...]]:
        try:
            yield from self._db.execute(statement)
        except sqlite3.OperationalError as e:
            raise self._full(e) from e

    def _full(self, error: sqlite3.OperationalError) -> UnavailableError:
        return UnavailableError(
            f"cannot spill to {tempfile.gettempdir()}: {error}",
            "make room, or set TMPDIR to a folder with about 100 bytes of room for each record",
        )
