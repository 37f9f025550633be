"""Checks of single values; each names what is wrong, never which event it is in."""

import re

from bridge.writer.events import BIGINT_MAX, BIGINT_MIN, NAME_MAX_CHARACTERS

__all__ = ["FaultError", "check_bigint", "check_metadata_key", "check_name", "check_text"]

_SHOWN_CHARACTERS = 60
# RFC 9110 token: what every header-carrying protocol accepts as a name.
_HEADER_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_RESERVED_KEY = re.compile(r"ce_.*|bridge_.*|content-type", re.IGNORECASE)


class FaultError(Exception):
    """A value is refused; the caller adds where it was found.

    Args:
        field: the field at fault.
        why: what is wrong with it, continuing a sentence.
        hint: what to do instead.
    """

    def __init__(self, field: str, why: str, hint: str | None = None) -> None:
        super().__init__(why)
        self.field = field
        self.why = why
        self.hint = hint


def _shown(value: str) -> str:
    cut = value[:_SHOWN_CHARACTERS]
    return repr(cut) if cut == value else f"{cut!r}…"


def check_text(field: str, what: str, value: object) -> str:
    """A str that every store in the path can hold; `what` names it in the refusal."""
    if not isinstance(value, str):
        raise FaultError(field, f"{what} is {type(value).__name__}, not str")
    if "\0" in value:
        # PostgreSQL's text and jsonb cannot hold U+0000; refused everywhere, so that a journal
        # can move between databases.
        raise FaultError(field, f"{what} {_shown(value)} contains a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FaultError(
            field, f"{what} {_shown(value)} contains a lone surrogate, which UTF-8 cannot express"
        ) from None
    return value


def check_name(field: str, what: str, value: object) -> str:
    """A text that identifies something: not empty, of limited length (in characters)."""
    name = check_text(field, what, value)
    if not name:
        raise FaultError(field, f"{what} is empty")
    if len(name) > NAME_MAX_CHARACTERS:
        raise FaultError(
            field,
            f"{what} {_shown(name)} has {len(name)} characters, "
            f"at most {NAME_MAX_CHARACTERS} are allowed",
        )
    return name


def check_metadata_key(value: object) -> str:
    """A metadata key that can be a record header and does not pose as one of the relay's."""
    key = check_name("metadata", "metadata key", value)
    if not _HEADER_TOKEN.fullmatch(key):
        raise FaultError(
            "metadata",
            f"metadata key {_shown(key)} is not a header name",
            "use letters, digits and !#$%&'*+.^_`|~- only",
        )
    if _RESERVED_KEY.fullmatch(key):
        raise FaultError(
            "metadata",
            f"metadata key {_shown(key)} is reserved for the relay's own headers",
            "choose a name that is not content-type and starts with neither ce_ nor bridge_",
        )
    return key


def check_bigint(field: str, value: object, minimum: int = BIGINT_MIN) -> int:
    """A whole number (not a bool) between `minimum` and the largest bigint."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise FaultError(field, f"{field} is {type(value).__name__}, not int")
    if not minimum <= value <= BIGINT_MAX:
        raise FaultError(field, f"{field} {value} is outside {minimum} … {BIGINT_MAX}")
    return value
