"""Connections to PostgreSQL, and its errors as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from bridge.errors import BridgeError, OperatorError, SetupError, UnavailableError
from bridge.redact import redact

__all__ = ["connect", "database_errors"]

CONNECT_TIMEOUT_S = 10


def connect(url: str, application_name: str) -> Connection[TupleRow]:
    """Open an autocommit connection for the reading side.

    Args:
        url: SQLAlchemy or libpq form; a driver in the scheme is ignored.
    """
    with database_errors(f"connecting to {redact(url)}"):
        conn = psycopg.connect(
            # The rest as it is: SQLAlchemy would undo the escape of a space, libpq refuses one.
            f"postgresql://{url.partition('://')[2]}",
            autocommit=True,
            connect_timeout=CONNECT_TIMEOUT_S,
            application_name=application_name,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            # Keepalives do not count while data that was sent is unacknowledged; this does.
            tcp_user_timeout=15_000,
            # A prepared statement fails for ever when a column of the journal changes its type.
            prepare_threshold=None,
        )
        # A generic plan cannot know how few rows a window holds and may scan the whole table.
        conn.execute("SET plan_cache_mode = force_custom_plan")
        conn.execute("SET jit = off")
        conn.execute("SET client_min_messages = warning")
        return conn


@contextmanager
def database_errors(doing: str) -> Iterator[None]:
    """Turn errors of the driver into errors that say what the caller must do."""
    try:
        yield
    except psycopg.Error as e:
        raise _error(e, doing) from None


def _error(error: psycopg.Error, doing: str) -> BridgeError:
    what = f"PostgreSQL: {doing}: {redact(str(error).strip())}"
    match error:
        case psycopg.errors.InvalidPassword() | psycopg.errors.InvalidAuthorizationSpecification():
            return SetupError(what, "correct user and password in the journal's url")
        case psycopg.errors.InvalidCatalogName():
            return SetupError(what, "correct the database in the journal's url")
        case psycopg.errors.InsufficientPrivilege():
            return SetupError(
                what, "run `bridge init` with a role that may grant the missing right"
            )
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedColumn():
            return SetupError(what, "run `bridge init`, or correct schema, table and layout")
        case psycopg.OperationalError() | psycopg.InterfaceError() | psycopg.InternalError():
            return UnavailableError(what, "check that the database is up; it goes on by itself")
        case _:
            return OperatorError(what, "`bridge check --connect` inspects the journal")
