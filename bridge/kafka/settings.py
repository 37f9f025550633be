"""librdkafka properties that safety rests on; the user's own pass through beside them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["KafkaSettings"]

TRANSACTION_TIMEOUT_MS = 15_000
"""The broker ends the transaction of a dead owner after this time; it looks every 10 s."""

METADATA_PROPAGATION_MS = 5_000
"""How long a topic just created may be unknown to a broker before producing to it fails."""

BATCH_SHARE = 0.8
"""Share of ``max.message.bytes`` that a batch may fill: framing and headers need the rest."""

_QUEUE_KBYTES = 2_000_000
_HUGE = 1_000_000_000


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """How to reach the brokers.

    Attributes:
        bootstrap_servers: ``host:port``, several separated by commas.
        properties: further librdkafka properties, safety-critical ones already refused.
    """

    bootstrap_servers: str
    properties: Mapping[str, str]

    def client(self) -> dict[str, Any]:
        """Properties of every client."""
        return {
            "client.id": "bridge",
            "log_level": 4,
            **self.properties,
            "bootstrap.servers": self.bootstrap_servers,
            "logger": logging.getLogger("bridge.kafka"),
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 1_000,
        }

    def producer(self, transactional_id: str, batch_bytes: int) -> dict[str, Any]:
        """Properties of a transactional producer whose batches stay below `batch_bytes`."""
        return {
            # A transaction is bounded before; a queue smaller than one record would never take it.
            "queue.buffering.max.kbytes": _QUEUE_KBYTES,
            **self.client(),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            "batch.size": int(batch_bytes * BATCH_SHARE),
            "batch.num.messages": 100_000,
            "message.max.bytes": _HUGE,  # sizes are checked before, by each topic's own limit
            "topic.metadata.propagation.max.ms": METADATA_PROPAGATION_MS,
            "retry.backoff.ms": 1,
            "retry.backoff.max.ms": 10,
        }

    def plain_producer(self, timeout_ms: int) -> dict[str, Any]:
        """Properties of an idempotent producer for single records; it gives up in time."""
        return {
            **self.client(),
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            "delivery.timeout.ms": timeout_ms,
        }

    def reader(self) -> dict[str, Any]:
        """Properties of a consumer without a group that sees committed records only."""
        return {
            **self.client(),
            "group.id": "bridge-unused",  # required by the client; offsets are never committed
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "check.crcs": True,
            "fetch.wait.max.ms": 50,
        }
