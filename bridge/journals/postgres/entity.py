"""Events of one entity by their numbers, a page at most."""

from psycopg import Connection
from psycopg.rows import TupleRow

from bridge.core.rows import JournalRow
from bridge.errors import OperatorError
from bridge.journals.base import PageLimits
from bridge.journals.layouts import RawRow
from bridge.journals.postgres.queries import ReadQueries

__all__ = ["read_entity"]

_PAYLOAD = 2
_SIZE = 3


def read_entity(
    conn: Connection[TupleRow],
    queries: ReadQueries,
    limits: PageLimits,
    events: tuple[str, int, int],
) -> tuple[list[JournalRow], bool]:
    """See :meth:`bridge.journals.base.Journal.read_entity`.

    Args:
        events: persistence id, first and last number.
    """
    query = queries.entity(*events)
    with conn.cursor(binary=True) as cursor:
        # One more than a page tells whether there are more.
        cursor.execute(f"{query.text}\nLIMIT {limits.max_rows + 1}", query.params)
        found = cursor.fetchall()
    make, room = queries.row_maker, limits.max_bytes
    rows: list[JournalRow] = []
    for raw in found:
        room -= raw[_SIZE] or 0
        if rows and (room < 0 or len(rows) == limits.max_rows):
            return rows, True
        try:
            rows.append(make(raw, _payload(conn, queries, raw)))
        except ValueError as e:
            if rows:
                return rows, True
            raise OperatorError(
                f"journal event {raw[0]!r}/{raw[1]} cannot be read: {e}", "correct the row"
            ) from None
    return rows, False


def _payload(conn: Connection[TupleRow], queries: ReadQueries, raw: RawRow) -> bytes | None:
    """The payload, asked for alone where it was withheld for its size."""
    if raw[_PAYLOAD] is not None or raw[_SIZE] is None:
        payload: bytes | None = raw[_PAYLOAD]
        return payload
    params = {"pid": raw[0], "seq": raw[1]}
    for text in (queries.payload, queries.history_payload):
        with conn.cursor(binary=True) as cursor:
            row = cursor.execute(text, params).fetchone()
        if row is not None and row[0] is not None:
            return bytes(row[0])
    raise ValueError("it was deleted meanwhile")
