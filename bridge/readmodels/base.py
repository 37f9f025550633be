"""What a projection needs from the database of its read model.

The fence between workers is a row of that database, one for each partition. A worker that is
assigned a partition claims it: that raises the row's epoch, in a transaction of its own, and tells
where to read on. Every move of the offset names the epoch and the offset it starts from, as the
first statement of the transaction that holds the effects: a former owner changes no row and rolls
back with all that it did.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from bridge.core.projected import Claim, EntityKey, Known, PartitionKey, Seen, StoredOffset

__all__ = ["ClaimLostError", "OffsetStore"]

Tx_co = TypeVar("Tx_co", covariant=True)


class ClaimLostError(Exception):
    """Somebody else has claimed the partition, or reset it: nothing was changed."""


class OffsetStore(Protocol[Tx_co]):
    """Offsets, and the transaction in which a handler changes the read model.

    Every method raises UnavailableError when the database cannot be reached or is busy, SetupError
    when it is not as it must be.
    """

    async def open(self) -> None:
        """Connect; missing tables are made."""

    async def close(self) -> None:
        """Give up all connections. The store can be opened again."""

    async def stored(self, projection: str) -> Mapping[tuple[str, int], StoredOffset]:
        """All offsets of a projection by topic and partition."""

    async def claim(self, key: PartitionKey, topic_id: str, initial: int) -> Claim:
        """Take a partition over; every earlier claim of it is void from now on.

        Args:
            topic_id: stored when there is no row yet; else the row's own stays, and is returned.
            initial: offset to begin with when there is no row yet.
        """

    async def known(self, key: PartitionKey, entities: Iterable[EntityKey]) -> Known:
        """What was applied of these entities from the partition's topic."""

    def advance(
        self, claim: Claim, to: int, seen: Sequence[Seen]
    ) -> AbstractAsyncContextManager[Tx_co]:
        """A transaction that moves the offset to `to`; committed when the block ends well.

        Args:
            seen: events that are remembered as applied.

        Raises:
            ClaimLostError: the claim is void; at the latest when the block ends.
        """

    async def call_plain(self, tx: Any, function: Callable[[Any], object]) -> None:
        """Call a plain function with the transaction as plain code uses it."""

    def is_gone(self, error: BaseException) -> bool:
        """Whether an error that a handler let through means that the connection is broken."""
