"""Is this the database that the cursor was written for, and has it kept everything since?

A restored volume snapshot has the same system identifier and timeline, and once written to may be
ahead of the cursor: only the missing witness tells.
"""

from collections.abc import Callable

from psycopg import Connection
from psycopg.rows import TupleRow

from bridge.core.cursor import JournalIdentity
from bridge.errors import OperatorError, SetupError
from bridge.journals.postgres.statements import compose, load, parameter_safe
from bridge.journals.postgres.table import STATE_TABLE
from bridge.journals.witness import kept_witness, new_token, require_same

__all__ = ["IdentityKeeper"]


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
        self._state = parameter_safe(schema, STATE_TABLE)
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
            return self._write(conn, JournalIdentity(system, timeline, None))
        relay = (self._keys["app"], self._keys["journal"])
        found = JournalIdentity(system, timeline, None)
        require_same(relay, named, found, set(self._witnesses(conn).values()))
        return named

    def renew(self, conn: Connection[TupleRow], committed: JournalIdentity) -> JournalIdentity:
        """Write a fresh witness; the one in `committed` stays valid beside it."""
        return self._write(conn, committed)

    def _write(self, conn: Connection[TupleRow], identity: JournalIdentity) -> JournalIdentity:
        token = self._token()
        statement = compose("read", "write_witness", state=self._state)
        with conn.transaction():
            conn.execute("SET LOCAL synchronous_commit = local")  # durable here, see the barrier
            present = self._witnesses(conn, lock=True)
            previous = kept_witness(identity, present)
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

    def _witnesses(self, conn: Connection[TupleRow], *, lock: bool = False) -> dict[str, str]:
        statement = compose("read", "witnesses", state=self._state)
        suffix = " FOR UPDATE" if lock else ""
        return dict(conn.execute(statement + suffix, self._keys).fetchall())
