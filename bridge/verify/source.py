"""The journal's side of the comparison."""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple, Protocol

__all__ = ["RowState", "SourceRow", "VerifySource"]


class RowState(IntEnum):
    """Whether a row's records must be there, going by the cursor; the stronger claim is lower."""

    EXPECTED = 0
    PENDING = 1
    BEFORE_START = 2


class SourceRow(NamedTuple):
    """One committed event of the journal.

    Attributes:
        persistence_id: UTF-8, as in record keys.
        tags: tags in any order, possibly repeated.
        state: a value of :class:`RowState`.
        gone: True when the owner has deleted the row and only bridge's copy of it is left.
    """

    persistence_id: bytes
    sequence_nr: int
    tags: tuple[str, ...]
    state: int
    gone: bool


class VerifySource(Protocol):
    """A journal as one consistent snapshot shows it, taken when the source is opened.

    Methods raise errors of :mod:`bridge.errors`.
    """

    def rows(self) -> Iterator[SourceRow]:
        """Every event, in any order, in bounded memory."""

    def kept_from(self) -> Iterator[tuple[bytes, int]]:
        """For each entity the number below which its owner has deleted events."""

    def close(self) -> None:
        """Release the snapshot."""
