"""What a projection is: a name, tags, a handler, a read model."""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

from bridge.config import Config
from bridge.errors import ConfigError
from bridge.kafka.brokers import Brokers
from bridge.projections.running import Running, run_beside
from bridge.readmodels.base import OffsetStore

__all__ = ["Projection"]

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ARGUMENTS: Final = {"exactly_once": 2, "at_least_once": 1}


@dataclass(frozen=True)
class Projection:
    """Builds a read model from the topics of some tags.

    Attributes:
        name: lower-case letters, digits, single dashes; its offsets are stored under it.
        tags: whose events it gets; an event with several of them comes once.
        handler: applies one event. With ``exactly_once`` it is `async def handler(event, tx)`, or
            a plain function that gets a synchronous connection; with ``at_least_once`` it is
            `handler(event)`, async or plain, a plain one on a thread.
        store: the read model's database.
        delivery: ``exactly_once``: the effect and the offset commit in one transaction of `store`.
            ``at_least_once``: the offset is stored after the effect; after a crash, a lost
            partition or an error of the database, up to `batch_max_records` events come again.
        start: what to do without a stored offset when the topic's first records are gone:
            ``beginning`` refuses, ``earliest-available`` begins with what is left.
        attempts: tries of an event, with growing pauses, before the projection stops.
        batch_max_records: events of one transaction at most.
    """

    name: str
    tags: Sequence[str]
    handler: Callable[..., Any]
    store: OffsetStore[Any]
    delivery: Literal["exactly_once", "at_least_once"] = "exactly_once"
    start: Literal["beginning", "earliest-available"] = "beginning"
    attempts: int = 5
    batch_max_records: int = 500

    def __post_init__(self) -> None:
        """Raises ConfigError."""
        where = f"projection {self.name!r}"
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"{where}: not a legal name", "use a-z, 0-9 and single dashes")
        if isinstance(self.tags, str) or not self.tags:
            raise ConfigError(f"{where}: no list of tags", 'give tags=["…"]')
        if self.delivery not in _ARGUMENTS:
            raise ConfigError(
                f"{where}: unknown delivery", f"choose one of {', '.join(_ARGUMENTS)}"
            )
        if self.start not in {"beginning", "earliest-available"}:
            raise ConfigError(f"{where}: unknown start", "choose beginning or earliest-available")
        if self.attempts < 1 or self.batch_max_records < 1:
            raise ConfigError(f"{where}: attempts and batch_max_records are 1 or more")
        try:
            inspect.signature(self.handler).bind(*[None] * _ARGUMENTS[self.delivery])
        except TypeError as e:
            wanted = "(event, tx)" if self.delivery == "exactly_once" else "(event)"
            raise ConfigError(
                f"{where}: the handler does not fit delivery={self.delivery}",
                f"it is called with {wanted}",
            ) from e

    @asynccontextmanager
    async def running(
        self, config: Config, brokers: Brokers | None = None
    ) -> AsyncIterator[Running]:
        """Run beside the block; at its end the batch in flight is finished.

        When the projection cannot go on, the block is cancelled and the reason raised.

        Args:
            brokers: in place of the configured ones.

        Raises:
            BridgeError: why it cannot go on.
        """
        # The parts know this class; they are put together when they are needed.
        from bridge.projections.assemble import assemble_worker  # noqa: PLC0415

        async with run_beside(assemble_worker(self, config, brokers)) as running:
            yield running
