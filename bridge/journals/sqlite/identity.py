"""Is this the file that the cursor was written for, and has it kept everything since?

SQLite gives a file no identifier, so it gets a random one, in `bridge_state`. A file copied back
over a newer one keeps it: only the missing witness tells.
"""

import sqlite3
from collections.abc import Callable, Mapping

from bridge.core.cursor import JournalIdentity
from bridge.journals.named_sql import named_statements
from bridge.journals.sqlite.session import immediate
from bridge.journals.witness import kept_witness, new_token, require_same

__all__ = ["IdentityKeeper", "read_state", "write_state"]

_SYSTEM = "system"


def read_state(conn: sqlite3.Connection, app: str, journal: str) -> dict[str, str]:
    """What is remembered under these keys."""
    return dict(conn.execute(_statement("read"), {"app": app, "journal": journal}))


def write_state(
    conn: sqlite3.Connection, relay: tuple[str, str], values: Mapping[str, str], *, once: bool
) -> None:
    """Remember values for (app, journal); with `once`, what is there already stays."""
    statement = _statement("write_once" if once else "write")
    app, journal = relay
    for key, value in values.items():
        conn.execute(statement, {"app": app, "journal": journal, "key": key, "value": value})


class IdentityKeeper:
    """Reads and checks the identity of a journal's file, and keeps its witness.

    Args:
        app, journal: whose witness.
        table: the journal's table, under which the file's id is kept.
        token: makes a fresh witness or id.
    """

    def __init__(
        self, app: str, journal: str, table: str, token: Callable[[], str] = new_token
    ) -> None:
        self._relay = (app, journal)
        self._table = table
        self._token = token

    def establish(self, conn: sqlite3.Connection, named: JournalIdentity | None) -> JournalIdentity:
        """The identity to go on with: the cursor's if it is this file's, else a first one.

        Raises:
            OperatorError: the file is not the one that the cursor was written for.
        """
        system = self._system(conn)
        if named is None:
            return self._write(conn, JournalIdentity(system, 0, None))
        witnesses = set(self._witnesses(conn).values())
        require_same(self._relay, named, JournalIdentity(system, 0, None), witnesses)
        return named

    def renew(self, conn: sqlite3.Connection, committed: JournalIdentity) -> JournalIdentity:
        """Write a fresh witness; the one in `committed` stays valid beside it."""
        return self._write(conn, committed)

    def _write(self, conn: sqlite3.Connection, identity: JournalIdentity) -> JournalIdentity:
        token = self._token()
        with immediate(conn):
            previous = kept_witness(identity, self._witnesses(conn))
            further = {} if previous is None else {"witness_previous": previous}
            write_state(conn, self._relay, {"witness": token, **further}, once=False)
        return JournalIdentity(identity.system, identity.timeline, token)

    def _witnesses(self, conn: sqlite3.Connection) -> dict[str, str]:
        state = read_state(conn, *self._relay)
        return {k: v for k, v in state.items() if k in ("witness", "witness_previous")}

    def _system(self, conn: sqlite3.Connection) -> str:
        found = read_state(conn, "", self._table).get(_SYSTEM)
        if found is None:
            with immediate(conn):
                write_state(conn, ("", self._table), {_SYSTEM: self._token()}, once=True)
            found = read_state(conn, "", self._table)[_SYSTEM]
        return found


def _statement(name: str) -> str:
    return named_statements(__package__, "state")[name]
