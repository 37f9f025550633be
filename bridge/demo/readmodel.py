"""The read model of the demonstration: balances of accounts, in a SQLite file."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import text

from bridge.core.rows import RowKey
from bridge.demo.story import TAG
from bridge.demo.tally import Balance
from bridge.journals.named_sql import named_statements
from bridge.projections import Event, Projection, SqlStore

__all__ = ["PROJECTION", "ReadModel"]

PROJECTION = "balances"

_APPLY = text(named_statements(__package__, "readmodel")["apply"])
_LOCK_WAIT_S = 30.0


class ReadModel:
    """Built by a projection, and looked at from outside.

    Args:
        file: where it is made; must not exist.
    """

    def __init__(self, file: Path) -> None:
        self._url = f"sqlite+aiosqlite:///{file}"
        self._conn = sqlite3.connect(file, timeout=_LOCK_WAIT_S, isolation_level=None)
        self._conn.execute("PRAGMA journal_mode = WAL")
        self._conn.execute(_sql("create"))

    def projection(self) -> Projection:
        """What builds it."""
        return Projection(PROJECTION, tags=[TAG], handler=_apply, store=SqlStore(self._url))

    def applied(self) -> int:
        """How many events have been applied."""
        return int(self._conn.execute(_sql("applied")).fetchone()[0])

    def read(self) -> tuple[Mapping[str, Balance], list[RowKey]]:
        """The balances, and the events of each account in the order in which they were applied."""
        balances, arrivals = {}, list[RowKey]()
        for account, deposits, total, numbers in self._conn.execute(_sql("read")):
            balances[account] = Balance(deposits, total)
            arrivals += [RowKey(account, int(number)) for number in str(numbers).split()]
        return balances, arrivals

    def close(self) -> None:
        """Close the file."""
        self._conn.close()


async def _apply(event: Event, tx: Any) -> None:
    """Handler of the projection: the change and the offset commit together."""
    parameters = {
        "account": event.persistence_id,
        "amount": event.json()["amount"],
        "number": str(event.sequence_nr),
    }
    await tx.execute(_APPLY, parameters)


def _sql(name: str) -> str:
    return named_statements(__package__, "readmodel")[name]
