"""What a writer has to expect: data that cannot be an event, and somebody else being faster."""

from bridge.errors import BridgeError

__all__ = ["InvalidEventError", "SequenceConflictError"]


class InvalidEventError(BridgeError):
    """The application's data cannot be stored or relayed: fix the data, a retry will not help.

    Raised before anything was sent to the database. Messages never contain payloads.

    Attributes:
        field: the argument or event field at fault, for example ``tags``.
        index: place of the event in the list given to `append`, from 0; None when the fault is
            not in one event (persistence id, expected number).
    """

    def __init__(self, what: str, hint: str | None, *, field: str, index: int | None) -> None:
        super().__init__(what, hint)
        self.field = field
        self.index = index


class SequenceConflictError(BridgeError):
    """Another writer has appended to this entity: read it again, decide again, append again.

    Nothing of this append was stored; the caller's transaction can go on.

    Attributes:
        persistence_id: the entity.
        expected: last sequence number the append was based on.
        found: last sequence number in the journal; equal to `expected` when the rival event is
            committed but invisible to this transaction's snapshot (REPEATABLE READ and stricter),
            in which case only a new transaction can see it.
    """

    def __init__(self, persistence_id: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"append to {persistence_id!r} expected sequence number {expected} as the last one, "
            + (
                f"the journal has {found}"
                if found != expected
                else "a transaction that this one's snapshot cannot see has added more"
            ),
            "load the entity again and repeat the decision; under REPEATABLE READ or stricter "
            "in a new transaction",
        )
        self.persistence_id = persistence_id
        self.expected = expected
        self.found = found
