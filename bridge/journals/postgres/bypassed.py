"""Rows that got into the journal past the trigger."""

from psycopg import sql

from bridge.journals.postgres.catalog import Connection
from bridge.journals.postgres.statements import compose
from bridge.journals.postgres.table import STATE_TABLE, JournalTable

__all__ = ["bypassed_rows"]


def bypassed_rows(conn: Connection, table: JournalTable, limit: int) -> int:
    """Count rows of the journal that were written after the install and will not be relayed.

    A disabled trigger, an attached partition that held rows before, or a superuser can cause them.
    The count reads the journal from its beginning, so ask seldom. A row from before the install
    that was updated since counts as well: journals only append.

    Args:
        limit: the count ends here.

    Returns:
        0 to `limit`; always 0 for layout `bridge`, which has no trigger to pass by.
    """
    if table.install is None:
        return 0
    read_table = sql.Identifier(table.schema, table.read_table)
    missing = compose("state", f"missing_in_{table.install}", read_table=read_table)
    statement = compose(
        "state",
        "bypassed",
        state=sql.Identifier(table.schema, STATE_TABLE),
        table_text=sql.Literal(table.table),
        journal=sql.Identifier(table.schema, table.table),
        missing=sql.SQL(missing),
        limit=sql.Literal(limit),
    )
    row = conn.execute(statement.encode()).fetchone()
    return 0 if row is None else int(row[0])
