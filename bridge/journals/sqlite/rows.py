"""Raw rows of an SQLite file → `JournalRow`, checked: a column may hold a value of any type."""

from bridge.core.positions import Place
from bridge.core.rows import JournalRow
from bridge.errors import OperatorError
from bridge.journals.layouts import RawRow, RowMaker

__all__ = ["CheckedRows"]

_PLACE = 9
_PAYLOAD = 2


class CheckedRows:
    """Makes rows of one table.

    Args:
        make: the layout's own mapping.
        shown: the journal as errors name it.
    """

    def __init__(self, make: RowMaker, shown: str) -> None:
        self._make = make
        self._shown = shown

    def row(self, raw: RawRow, place: Place | None = None) -> JournalRow:
        """The row; `place` replaces the one that the statement has selected.

        Raises:
            OperatorError: a column holds what no event can have.
        """
        placed = raw if place is None else (*raw[:_PLACE], *place)
        try:
            _require_types(raw)
            return self._make(placed, raw[_PAYLOAD])
        except (ValueError, TypeError, AttributeError) as e:
            raise OperatorError(
                f"journal {self._shown}: row {raw[_PLACE:]}, event {raw[0]!r}/{raw[1]!r}, cannot "
                f"be read: {e}",
                "correct the row; nothing was skipped, everything before it is published",
            ) from e


def _require_types(raw: RawRow) -> None:
    pid, sequence_nr, tags, timestamp = raw[0], raw[1], raw[4], raw[5]
    if not isinstance(pid, str):
        raise TypeError("persistence_id is no text")
    if not pid.isascii():
        pid.encode()
    if type(sequence_nr) is not int:
        raise TypeError("sequence_nr is no integer")
    if type(timestamp) is not int:
        raise TypeError("its time is no integer")
    if tags is not None and not isinstance(tags, str):
        raise TypeError("tags are no text")
