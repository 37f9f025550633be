"""A database in memory whose transactions behave as PostgreSQL's: open, late, rolled back, lost.

It exists so that tests and simulations can stage what a real server does only by chance. Times,
ids and crashes are the caller's to choose; nothing happens by itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock

from bridge.core.rows import JournalRow
from bridge.core.snapshot import PgSnapshot
from bridge.errors import OperatorError

__all__ = ["MemoryDatabase", "MemoryTransaction", "StoredRow"]

State = Mapping[tuple[str, str, str], str]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row with the id of the transaction that inserted it."""

    txid: int
    row: JournalRow


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a transaction as the log has it; of a rolled-back one there are no rows."""

    txid: int
    rows: tuple[StoredRow, ...]
    state: State


class MemoryDatabase:
    """Rows, open transactions and the log behind them.

    Attributes:
        system, timeline: identity of the database.
        lives: grows with each crash; a connection made in an earlier life is dead.
    """

    def __init__(self, system: str = "memory", timeline: int = 1) -> None:
        self.system = system
        self.timeline = timeline
        self.lives = 0
        self.lock = RLock()
        self._next_txid = 1
        self._latest_ended = 0
        self._next_ordering = 1
        self._open: set[int] = set()
        self._log: list[_Ended] = []
        self._flushed = 0

    def begin(self) -> "MemoryTransaction":
        """A transaction; it takes its id with its first write."""
        return MemoryTransaction(self, self.lives)

    def snapshot(self) -> PgSnapshot:
        """What has ended by now, as ``pg_current_snapshot()`` tells it."""
        with self.lock:
            xmax = self._latest_ended + 1
            xip = frozenset(txid for txid in self._open if txid < xmax)
            return PgSnapshot(min(xip, default=xmax), xmax, xip)

    def rows(self) -> Iterator[StoredRow]:
        """All committed rows."""
        return (stored for ended in self._log for stored in ended.rows)

    def state(self) -> dict[tuple[str, str, str], str]:
        """`bridge_state`: (app, journal, key) → value."""
        found: dict[tuple[str, str, str], str] = {}
        for ended in self._log:
            found.update(ended.state)
        return found

    def write_state(self, values: State) -> None:
        """Write into `bridge_state`, durably."""
        with self.lock:
            self.end(self.take_txid(), (), values, durable=True)

    def flush(self) -> None:
        """Make all that has ended durable."""
        with self.lock:
            self._flushed = len(self._log)

    def crash(self) -> None:
        """Lose what is not durable: open transactions, and ends that were not flushed.

        Their ids are handed out again, as a real server does it; row numbers are not.
        """
        with self.lock:
            self.lives += 1
            self._open.clear()
            del self._log[self._flushed :]
            self._latest_ended = max((ended.txid for ended in self._log), default=0)
            self._next_txid = self._latest_ended + 1

    @contextmanager
    def restored_later(self) -> Iterator[None]:
        """At the end of the block the log is again what it was at its beginning."""
        with self.lock:
            kept = list(self._log)
        yield
        with self.lock:
            self._log, self._flushed = kept, len(kept)
            self.lives += 1

    def take_txid(self) -> int:
        """The id of a transaction that begins to write."""
        with self.lock:
            txid = self._next_txid
            self._next_txid += 1
            self._open.add(txid)
            return txid

    def take_ordering(self) -> int:
        """The number of a row that is being inserted; never handed out again."""
        with self.lock:
            self._next_ordering += 1
            return self._next_ordering - 1

    def end(self, txid: int, rows: tuple[StoredRow, ...], state: State, *, durable: bool) -> None:
        """End a transaction.

        Raises:
            OperatorError: a row of the same identity was committed before.
        """
        with self.lock:
            taken = {stored.row[:2] for stored in self.rows()}
            double = next((stored.row for stored in rows if stored.row[:2] in taken), None)
            if double is not None:
                raise OperatorError(f"event {double[0]!r}/{double[1]} exists already")
            self._open.discard(txid)
            self._latest_ended = max(self._latest_ended, txid)
            self._log.append(_Ended(txid, rows, state))
            if durable:
                self.flush()


class MemoryTransaction:
    """One transaction of a writer.

    Attributes:
        txid: None until the first write.
    """

    def __init__(self, database: MemoryDatabase, life: int) -> None:
        self._database = database
        self._life = life
        self._rows: list[StoredRow] = []
        self.txid: int | None = None

    def take_id(self) -> int:
        """Take the transaction's id now, before anything is written."""
        self._require_alive()
        if self.txid is None:
            self.txid = self._database.take_txid()
        return self.txid

    def append(
        self,
        persistence_id: str,
        sequence_nr: int,
        *,
        payload: bytes | None = b"{}",
        tags: tuple[str, ...] = (),
        timestamp_ms: int = 0,
        event_type: str | None = None,
        content_type: str | None = None,
        metadata: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Insert an event; see :class:`bridge.core.rows.JournalRow` for the values."""
        txid = self.take_id()
        place = (self._database.take_ordering(), persistence_id, sequence_nr)
        row = JournalRow(
            persistence_id,
            sequence_nr,
            payload,
            tuple(dict.fromkeys(tag for tag in tags if tag)),
            timestamp_ms,
            event_type,
            content_type,
            metadata,
            place,
        )
        self._rows.append(StoredRow(txid, row))

    def savepoint(self) -> int:
        """A mark to go back to."""
        return len(self._rows)

    def rollback_to(self, mark: int) -> None:
        """Undo all that was inserted since `savepoint` gave this mark."""
        self._require_alive()
        del self._rows[mark:]

    def commit(self, *, durable: bool = True) -> None:
        """Make the rows visible; without `durable` a crash may take them back."""
        self._end(tuple(self._rows), durable)

    def rollback(self) -> None:
        """End without rows; as on a real server, nothing waits for this to be durable."""
        self._end((), durable=False)

    def _end(self, rows: tuple[StoredRow, ...], durable: bool) -> None:
        self._require_alive()
        if self.txid is not None:
            self._database.end(self.txid, rows, {}, durable=durable)
        self._life = -1

    def _require_alive(self) -> None:
        if self._life != self._database.lives:
            raise RuntimeError("the transaction has ended, by its own or by a crash")
