"""What a worker needs from Kafka."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from bridge.core.cursor import TopicIdentity
from bridge.envelope.inbound import InboundRecord
from bridge.kafka.consuming import Listener
from bridge.kafka.partition_logs import LogRange

__all__ = ["Consumer", "Logs", "Place", "Topics"]

Place = tuple[str, int]
"""Topic and partition."""


class Topics(Protocol):
    """The topics as an administrator sees them; calls block, errors are those of the package."""

    def identities(self, names: Iterable[str]) -> Mapping[str, TopicIdentity]:
        """Ids and partitions of the topics that exist."""

    def await_visible(self, names: Iterable[str]) -> None:
        """Return once `read_committed` readers can see the topics to their ends."""


class Logs(Protocol):
    """The logs of partitions; calls block, errors are those of the package."""

    def ranges(self, places: Iterable[Place]) -> Mapping[Place, LogRange]:
        """Beginning and end of each partition."""

    def leader_epochs(self, places: Iterable[Place]) -> Mapping[Place, int | None]:
        """Epoch of each partition's leader."""

    def was_truncated(self, place: Place, offset: int, leader_epoch: int) -> bool:
        """Whether records below `offset` are others than the leader of `leader_epoch` had."""


class Consumer(Protocol):
    """A member of the projection's group; errors are those of the package."""

    async def start(self, listener: Listener) -> None:
        """Connect."""

    async def stop(self) -> None:
        """Leave the group."""

    def subscribe(self, topics: Collection[str]) -> None:
        """Read these topics from now on, and no others."""

    def assigned(self) -> Collection[Place]:
        """The partitions that the group has given to this member."""

    def seek(self, place: Place, offset: int) -> bool:
        """Read on from there; False: the partition is not assigned any more."""

    async def fetch(
        self, places: Collection[Place], max_records: int
    ) -> Mapping[Place, Sequence[InboundRecord]]:
        """Committed records of these partitions, in order; nothing after a short wait."""

    async def position(self, place: Place) -> int | None:
        """Behind what was fetched, aborted records and transaction markers included."""
