"""Named statements from the `.sql` files of an adapter."""

import re
from functools import cache
from importlib.resources import files

__all__ = ["named_statements"]

_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT_LINES = re.compile(r"^--.*\n?", re.MULTILINE)


@cache
def named_statements(package: str, file: str) -> dict[str, str]:
    """The statements of `sql/{file}.sql` beside `package` by name, without what is between them."""
    text = (files(package) / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {
        name: _COMMENT_LINES.sub("", statement).strip().removesuffix(";")
        for name, statement in zip(parts[::2], parts[1::2], strict=True)
    }
