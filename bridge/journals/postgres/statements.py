"""Named statements from the `.sql` files beside this module."""

import re
from functools import cache
from importlib.resources import files

from psycopg import sql

__all__ = ["compose", "load"]

_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT_LINES = re.compile(r"^--.*\n?", re.MULTILINE)


@cache
def load(file: str) -> dict[str, str]:
    """The statements of `sql/{file}.sql` by name, without the comments between them."""
    text = (files(__package__) / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {
        name: _COMMENT_LINES.sub("", statement).strip()
        for name, statement in zip(parts[::2], parts[1::2], strict=True)
    }


def compose(file: str, name: str, **values: sql.Composable) -> str:
    """One statement with its placeholders filled in, quoted; needs no connection."""
    return sql.SQL(load(file)[name]).format(**values).as_string(None)
