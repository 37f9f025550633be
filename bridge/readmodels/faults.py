"""Database exceptions → errors of this package, by what the caller must do."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from bridge.errors import BridgeError, SetupError, UnavailableError

__all__ = ["is_gone", "translated"]

_REFUSED_CLASSES = ("28", "3D", "42")
"""SQLSTATE classes of a wrong password, a missing database, a missing right or table."""


_GONE_CLASSES = ("08", "57P", "25P03")
"""SQLSTATE classes of a session that was ended: by the network, by an administrator, for idling."""


def is_gone(error: BaseException) -> bool:
    """Whether the connection is broken; its transaction was rolled back, or will be."""
    if not isinstance(error, DBAPIError):
        return False
    state = str(getattr(error.orig, "sqlstate", None))
    return error.connection_invalidated or state.startswith(_GONE_CLASSES)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise errors of :mod:`bridge.errors` for those of the database that say how to go on.

    Anything else, a constraint checked at the commit for one, is the effect's own fault.
    """
    try:
        yield
    except (DBAPIError, OSError, PoolTimeoutError) as e:
        error = _error(e, doing)
        if error is None:
            raise
        raise error from e


def _error(error: DBAPIError | OSError | PoolTimeoutError, doing: str) -> BridgeError | None:
    what = f"read model: {doing}: {_reason(error)}"
    if _is_unavailable(error):
        return UnavailableError(what, "check that the database is up; it goes on by itself")
    if isinstance(error, DBAPIError) and _is_refusal(error):
        return SetupError(what, "give the projection's role the right named in the message")
    return None


def _is_unavailable(error: DBAPIError | OSError | PoolTimeoutError) -> bool:
    """Whether the database is gone or busy: the same may succeed later."""
    if not isinstance(error, DBAPIError):
        return True
    if _is_refusal(error):
        return False
    return is_gone(error) or isinstance(error, OperationalError | InterfaceError)


def _is_refusal(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # SQLite, and a connection that was never made
        return isinstance(error, ProgrammingError)
    return str(state).startswith(_REFUSED_CLASSES)


def _reason(error: BaseException) -> str:
    """The driver's own words, without the statement and its parameters."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    return str(origin).strip().splitlines()[0] if str(origin).strip() else type(origin).__name__
