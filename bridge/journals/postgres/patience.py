"""Executing DDL on a table that others write to, without holding them up.

A DDL statement that waits for its lock makes every later writer queue behind it. So it waits for
100 ms at most (the statements say so themselves), gives way, pauses for a random time and tries
again, until a limit.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from psycopg import errors
from psycopg.rows import class_row

from bridge.errors import SetupError
from bridge.journals.postgres.catalog import Connection, relation_oids
from bridge.journals.postgres.statements import load
from bridge.journals.postgres.steps import Step
from bridge.journals.postgres.table import STATE_TABLE, JournalTable

__all__ = ["Patience", "execute", "random_pause"]

_MIN_PAUSE_S = 0.05
_MAX_PAUSE_S = 0.5
_MAX_NAMED = 5


def random_pause(sleep: Callable[[float], None], random: Random) -> Callable[[], None]:
    """A pause between two tries, long enough for writers to get through: 50 to 500 ms."""
    return lambda: sleep(random.uniform(_MIN_PAUSE_S, _MAX_PAUSE_S))


@dataclass(frozen=True)
class Patience:
    """How long to try.

    Attributes:
        pause: waits a random short time between two tries.
        limit_s: seconds after which the tries end.
        clock: monotonic seconds.
    """

    pause: Callable[[], None]
    limit_s: float
    clock: Callable[[], float] = field(default=time.monotonic)


@dataclass(frozen=True)
class _Holder:
    who: str
    role: str | None
    application: str | None
    state: str | None
    granted: bool
    mode: str
    age_s: float | None

    def __str__(self) -> str:
        facts = (
            self.role and f"role {self.role}",
            self.application and f"application {self.application}",
            self.state,
            self.age_s is not None and f"in a transaction for {self.age_s:.1f} s",
            self.mode if self.granted else f"waits for {self.mode}",
        )
        return f"{self.who} ({', '.join(str(fact) for fact in facts if fact)})"


def execute(
    conn: Connection, table: JournalTable, steps: Sequence[Step], patience: Patience
) -> None:
    """Execute the steps in order; each gets the whole limit.

    Raises:
        SetupError: a lock could not be had within the limit; names who holds it.
    """
    for step in steps:
        if step.transactional:
            _transaction(conn, table, step, patience)
        else:
            _concurrently(conn, table, step, patience)


def _transaction(conn: Connection, table: JournalTable, step: Step, patience: Patience) -> None:
    deadline = patience.clock() + patience.limit_s
    names = (table.table, table.read_table, STATE_TABLE)
    blockers: list[_Holder] = []
    while True:
        try:
            for statement in step.statements:
                conn.execute(statement.encode())
        except (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected):
            conn.rollback()
            oids = relation_oids(conn, table.schema, names)
            blockers = _lasting(blockers, _holders(conn, "lock_holders", oids))
        except BaseException:
            conn.rollback()
            raise
        else:
            return
        if patience.clock() >= deadline:
            raise _gave_up(table, patience, blockers)
        patience.pause()


def _lasting(before: list[_Holder], now: list[_Holder]) -> list[_Holder]:
    """Writers come and go at each try; who is there each time is the likely cause."""
    known = {holder.who for holder in before}
    return [holder for holder in now if holder.who in known] or now or before


def _concurrently(conn: Connection, table: JournalTable, step: Step, patience: Patience) -> None:
    """Waiting holds up nobody here, so it may take the whole limit; building may take longer."""
    previous = conn.execute("SELECT current_setting('lock_timeout')").fetchone()
    _set_lock_timeout(conn, f"{max(1, round(patience.limit_s * 1000))}ms")
    try:
        for statement in step.statements:
            conn.execute(statement.encode())
    except errors.LockNotAvailable:
        raise _gave_up(table, patience, _holders(conn, "snapshot_holders", [])) from None
    finally:
        if previous is not None and not conn.broken:
            _set_lock_timeout(conn, str(previous[0]))


def _set_lock_timeout(conn: Connection, value: str) -> None:
    conn.execute("SELECT set_config('lock_timeout', %s, false)", (value,))


def _holders(conn: Connection, statement: str, oids: list[int]) -> list[_Holder]:
    with conn.cursor(row_factory=class_row(_Holder)) as cursor:
        return cursor.execute(load("catalog")[statement], {"oids": oids}).fetchall()


def _gave_up(table: JournalTable, patience: Patience, blockers: list[_Holder]) -> SetupError:
    named = "; ".join(str(holder) for holder in blockers[:_MAX_NAMED]) or "nobody seen any more"
    return SetupError(
        f"no lock on {table.shown} within {patience.limit_s:g} s; held up by {named}",
        "end that transaction or try again when it has ended; nothing was left half done except "
        "an INVALID index, which the next try replaces",
    )
