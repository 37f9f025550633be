"""What each Kafka error asks of the relay: one argued table, pure.

librdkafka sorts its errors itself (fatal, retriable, "abort the transaction"); the table names the
codes whose meaning for a relay is another, and gives the rest by those flags.
"""

from dataclasses import dataclass

from bridge.core.effects import Verdict

__all__ = ["KafkaFault", "triage"]


@dataclass(frozen=True, slots=True)
class KafkaFault:
    """An error as the client reports it.

    Attributes:
        name: code name, e.g. ``_TIMED_OUT`` (client) or ``NOT_ENOUGH_REPLICAS`` (broker).
        fatal: the client says that the producer is unusable.
    """

    name: str
    fatal: bool = False


_FENCED = frozenset(
    {
        # Another producer with our transactional id, or the coordinator's time-out of our own
        # transaction: both raise the epoch, only the cursor topic tells which it was.
        "_FENCED",
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
    }
)

_STOP = frozenset(
    {
        # Going on by itself cannot help: configuration or broker version.
        "_INVALID_ARG",
        "_UNSUPPORTED_FEATURE",
        "_NOT_CONFIGURED",
        "UNSUPPORTED_VERSION",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "INVALID_TRANSACTION_TIMEOUT",
        "INVALID_CONFIG",
        "INVALID_REPLICATION_FACTOR",
        "INVALID_PARTITIONS",
        "TOPIC_EXCEPTION",  # name refused by the broker: illegal, or collides with another
        "POLICY_VIOLATION",
        "SASL_AUTHENTICATION_FAILED",
        "_AUTHENTICATION",
        "_SSL",
    }
)


def triage(fault: KafkaFault) -> Verdict:
    """Verdict on an error of any Kafka call.

    Unlisted errors (time-outs, transport, leader elections, too few replicas, unknown or aborted
    transactions, deleted topics, withdrawn rights) end the life of the producer: a new one reads
    the cursor and so learns what was committed. Nothing is ever skipped.
    """
    if fault.name in _FENCED:
        return Verdict.FENCED
    if fault.name in _STOP:
        return Verdict.STOP
    return Verdict.NEW_PRODUCER
