"""What the keys of one journal require of each other, and the reading of its address."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from bridge.config.rules import Breach
from bridge.errors import ConfigError

if TYPE_CHECKING:
    from bridge.config.models import Journal

__all__ = ["database_of", "problems", "read_url"]

Database = Literal["postgresql", "sqlite"]

_DATABASES: Final[dict[str, Database]] = {
    "postgresql": "postgresql",
    "postgresql+psycopg": "postgresql",
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
}
_SCHEMES: Final = "postgresql://user@host/database or sqlite:///path/to/file"
_ENCODE: Final = 'percent-encode special characters of user name and password ("@" is %40)'
_URL_FILE_BYTES_MAX: Final = 65_536


def database_of(url: str) -> Database:
    """Tell the kind of database from a `url` that `problems` has accepted."""
    return _DATABASES[_scheme(url)]


def read_url(journal: "Journal") -> str:
    """Return the address of `journal`; see `Journal.read_url`."""
    if journal.url is not None:
        return journal.url.get_secret_value()
    if journal.url_file is None:
        raise ConfigError("the journal has neither url nor url_file")
    try:
        return _read_secret(journal.url_file)
    except (OSError, ValueError) as error:
        raise ConfigError(f"url_file {journal.url_file}: {_reason(error)}") from None


def problems(journal: "Journal") -> Iterator[Breach]:
    """Yield what does not fit together in `journal`."""
    if journal.layout == "bridge" and journal.install is not None:
        yield ("install",), "must be absent: layout bridge carries its order in its own columns"
    if (journal.url is None) == (journal.url_file is None):
        given = "neither is given" if journal.url is None else "both are given"
        yield (), f"exactly one of url and url_file is needed, {given}"
        return
    key = ("url",) if journal.url is not None else ("url_file",)
    try:
        url = read_url(journal)
    except ConfigError as error:
        yield key, error.what
        return
    fault = _url_fault(url)
    if fault is not None:
        yield key, fault
    elif database_of(url) == "sqlite":
        yield from _sqlite_problems(journal)
    elif journal.ordering == "sequence":
        yield ("ordering",), "sequence is for SQLite; PostgreSQL needs auto or snapshot"


def _sqlite_problems(journal: "Journal") -> Iterator[Breach]:
    if journal.install == "columns":
        yield ("install",), "columns is not possible on SQLite: use outbox"
    if journal.ordering == "snapshot":
        yield ("ordering",), "snapshot is for PostgreSQL; SQLite needs auto or sequence"
    if journal.schema_name is not None:
        yield ("schema",), "SQLite has no schemas: remove it"
    if journal.standbys:
        yield ("durability",), "SQLite has no standbys: only flushed is possible"


def _read_secret(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(_URL_FILE_BYTES_MAX + 1)
    if len(raw) > _URL_FILE_BYTES_MAX:
        raise ValueError(f"longer than {_URL_FILE_BYTES_MAX} bytes")
    return raw.decode("utf-8").rstrip("\r\n")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"  # the error itself quotes the bytes
    return (error.strerror or "cannot be read") if isinstance(error, OSError) else str(error)


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower()


def _url_fault(url: str) -> str | None:
    """Say what is wrong with an address, without quoting any of it but a known-harmless part."""
    if not url:
        return f"is empty; expected {_SCHEMES}"
    if "://" not in url or _scheme(url) not in _DATABASES:
        return f"is not an address of a supported database; expected {_SCHEMES}"
    if re.search(r"[\s\x00-\x1f]", url):
        return f"holds white space: {_ENCODE}"
    if database_of(url) == "sqlite":
        return _sqlite_fault(url)
    return _server_fault(url)


def _sqlite_fault(url: str) -> str | None:
    file = url.partition(":///")[2].partition("?")[0]
    if not file or file == ":memory:" or "mode=memory" in url:
        return "must name a file (sqlite:///path/to/file): memory is not shared between processes"
    return None


def _server_fault(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return f"has no number as port: {_ENCODE}"
    rest = parts.path + parts.query + parts.fragment
    if parts.netloc.count("@") > 1 or "@" in rest or parts.fragment:
        return f'holds "@", "/", "?" or "#" where none can be: {_ENCODE}'
    if not parts.path.strip("/"):
        return f"names no database; expected {_SCHEMES}"
    return None
