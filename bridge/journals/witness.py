"""What all adapters share about telling a journal's database from an old copy of it."""

import secrets
from collections.abc import Mapping

from bridge.core.cursor import JournalIdentity
from bridge.errors import OperatorError, UnavailableError

__all__ = ["kept_witness", "mismatch", "new_token", "require_same"]


def new_token() -> str:
    """A witness that nobody else will ever write."""
    return secrets.token_hex(16)


def require_same(
    relay: tuple[str, str], named: JournalIdentity, found: JournalIdentity, witnesses: set[str]
) -> None:
    """Compare the identity that a cursor names with what the database says of itself.

    Args:
        relay: (app, journal), for the error.
        named: as in the cursor.
        found: as in the database, its witness aside.
        witnesses: the valid witnesses found in the database.

    Raises:
        OperatorError: it is another database, or one restored from a state before the cursor.
    """
    if named.system != found.system:
        raise mismatch(relay, _differs("system identifier", named.system, found.system))
    if named.timeline != found.timeline:
        raise mismatch(relay, _differs("timeline", named.timeline, found.timeline))
    if named.witness not in witnesses:
        raise mismatch(
            relay,
            "the witness that the cursor names is missing in bridge_state: the database was "
            "restored from a state before the cursor",
        )


def kept_witness(identity: JournalIdentity, present: Mapping[str, str]) -> str | None:
    """The witness that must stay valid beside a fresh one.

    Args:
        identity: as the last committed cursor names it; without a witness before the first cursor.
        present: key → witness, as in the database now.

    Raises:
        UnavailableError: another relay has renewed the witness twice since: this one is late, and
            must not overwrite what its successor's cursor names.
    """
    if identity.witness is None:
        return present.get("witness")
    if identity.witness not in present.values():
        raise UnavailableError(
            "the witness in bridge_state was replaced by another relay",
            "only one relay may run for a journal",
        )
    return identity.witness


def mismatch(relay: tuple[str, str], why: str) -> OperatorError:
    """The error of a journal that is not the database of its cursor; `relay`: (app, journal)."""
    app, journal = relay
    return OperatorError(
        f"journal {journal} of app {app} is not the database of its cursor: {why}",
        "going on could lose or double events; compare the journal with its topics "
        "(`bridge verify`) before deciding where to go on",
    )


def _differs(what: str, named: object, found: object) -> str:
    return f"{what} is {found}, the cursor was written for {named}"
