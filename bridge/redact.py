"""Taking secrets out of text before it reaches a terminal, a log or an error.

Where it is not certain how far a secret reaches, too much is taken rather than too little.
"""

import re

__all__ = ["MASK", "is_secret_name", "redact"]

MASK = "***"

_SECRET_WORD = (
    r"(?:password|passwd|passphrase|pwd|secret|token|credentials"
    r"|api[._-]?key|private[._-]?key(?:[._-]pem)?|key[._-]pem|(?:jaas|oauthbearer)[._-]config)"
)
_SECRET_NAME = re.compile(rf"{_SECRET_WORD}$", re.IGNORECASE)

# A password that was pasted in without percent-encoding may itself hold "@", "/" or ":", so it
# reaches up to the last "@" before white space.
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.\-]*://[^\s:/@]*:)\S*(?=@)", re.IGNORECASE)

# `name=value`, `name: value`, `"name": "value"`. A quoted value ends at its closing quote, with
# backslash escapes and doubled quotes inside; any other one only at white space, because a
# password may hold a comma, an ampersand or a bracket.
_ASSIGNMENT = re.compile(
    rf"([\w.\-]*{_SECRET_WORD}[\"']?\s*[=:]\s*)"
    r"(?:\"(?:[^\"\\]|\\.|\"\")*\"|'(?:[^'\\]|\\.|'')*'|\S+)",
    re.IGNORECASE,
)

_PRIVATE_KEY = re.compile(
    r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL
)


def is_secret_name(name: str) -> bool:
    """Say whether a setting called `name` holds a secret (``sasl.password``, ``API_KEY``, …)."""
    return _SECRET_NAME.search(name) is not None


def redact(text: str) -> str:
    """Replace passwords in URLs, values of secret settings and private keys in `text` by a mask.

    Works on free text; the user name and host of a URL stay readable.
    """
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _URL_PASSWORD.sub(rf"\1{MASK}", text)
    return _ASSIGNMENT.sub(rf"\1{MASK}", text)
