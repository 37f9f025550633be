"""Is this the database that the cursor was written for, and has it kept everything since?

A restored volume snapshot has the same system identifier and timeline, and once written to may be
ahead of the cursor: only the missing witness tells.
"""

import secrets
from collections.abc import Callable

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from bridge.core.cursor import JournalIdentity
from bridge.errors import OperatorError, SetupError
from bridge.journals.postgres.statements import compose, load
from bridge.journals.postgres.table import STATE_TABLE

__all__ = ["IdentityKeeper", "new_token"]


def new_token() -> str:
    """A witness that nobody else will ever write."""
    return secrets.token_hex(16)


class IdentityKeeper:
    """Reads and checks the identity of a journal's database, and keeps its witness.

    Args:
        app, journal: whose witness.
        schema: schema of the state table.
        token: makes a fresh witness.
    """

    def __init__(
        self, app: str, journal: str, schema: str, token: Callable[[], str] = new_token
    ) -> None:
        self._keys = {"app": app, "journal": journal}
        self._state = sql.Identifier(schema, STATE_TABLE)
        self._token = token

    def establish(
        self, conn: Connection[TupleRow], named: JournalIdentity | None
    ) -> JournalIdentity:
        """The identity to go on with: the cursor's if it is this database's, else a first one.

        Raises:
            OperatorError: the database is not the one that the cursor was written for.
            SetupError: it is a standby.
        """
        system, timeline, in_recovery = self._read(conn)
        if in_recovery:
            raise SetupError(
                "the server is a standby, which cannot tell open transactions from ended ones",
                "point the journal's url at the writable primary",
            )
        if named is None:
            return self._write(conn, JournalIdentity(system, timeline, None), None)
        self._require("system identifier", named.system, system)
        self._require("timeline", str(named.timeline), str(timeline))
        self._require_witness(conn, named)
        return named

    def renew(self, conn: Connection[TupleRow], committed: JournalIdentity) -> JournalIdentity:
        """Write a fresh witness; the one in `committed` stays valid beside it."""
        return self._write(conn, committed, committed.witness)

    def _write(
        self, conn: Connection[TupleRow], identity: JournalIdentity, previous: str | None
    ) -> JournalIdentity:
        token = self._token()
        statement = compose("read", "write_witness", state=self._state)
        with conn.transaction():
            conn.execute("SET LOCAL synchronous_commit = on")
            conn.execute(statement, {**self._keys, "key": "witness", "value": token})
            if previous is not None:
                conn.execute(
                    statement, {**self._keys, "key": "witness_previous", "value": previous}
                )
        return JournalIdentity(identity.system, identity.timeline, token)

    def _read(self, conn: Connection[TupleRow]) -> tuple[str, int, bool]:
        recovery = conn.execute("SELECT pg_is_in_recovery()").fetchone()
        if recovery and recovery[0]:
            return "", 0, True
        row = conn.execute(load("read")["identity"]).fetchone()
        if row is None:
            raise OperatorError("PostgreSQL does not tell its identity")
        return row[0], row[1], row[2]

    def _require(self, what: str, expected: str, found: str) -> None:
        if expected != found:
            raise self._mismatch(f"{what} is {found}, the cursor was written for {expected}")

    def _require_witness(self, conn: Connection[TupleRow], named: JournalIdentity) -> None:
        statement = compose("read", "witnesses", state=self._state)
        present = {value for (value,) in conn.execute(statement, self._keys)}
        if named.witness not in present:
            raise self._mismatch(
                "the witness that the cursor names is missing in bridge_state: the database was "
                "restored from a state before the cursor"
            )

    def _mismatch(self, why: str) -> OperatorError:
        app, journal = self._keys["app"], self._keys["journal"]
        return OperatorError(
            f"journal {journal} of app {app} is not the database of its cursor: {why}",
            "going on could lose or double events; compare the journal with its topics "
            "(`bridge verify`) before deciding where to go on",
        )
