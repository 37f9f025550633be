"""Named statements from the `.sql` files beside this module."""

from psycopg import sql

from bridge.journals.named_sql import named_statements

__all__ = ["compose", "load", "parameter_safe"]


def load(file: str) -> dict[str, str]:
    """The statements of `sql/{file}.sql` by name, without the comments between them."""
    return named_statements("bridge.journals.postgres", file)


def compose(file: str, name: str, **values: sql.Composable) -> str:
    """One statement with its placeholders filled in, quoted; needs no connection."""
    return sql.SQL(load(file)[name]).format(**values).as_string(None)


def parameter_safe(*names: str) -> sql.Identifier:
    """A quoted name for statements with parameters, where the driver takes a lone % for one."""
    return sql.Identifier(*(name.replace("%", "%%") for name in names))
