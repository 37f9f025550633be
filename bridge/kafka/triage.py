"""What each Kafka error asks of the relay: one argued table, pure.

librdkafka sorts its errors itself (fatal, retriable, "abort the transaction") by what a producer
can do next. A relay can always do the same: end the producer's life and read the cursor. The table
names the codes for which that is not enough.
"""

from bridge.core.effects import Verdict

__all__ = ["triage"]


_FENCED = frozenset(
    {
        # Another producer with our transactional id, or the coordinator's time-out of our own
        # transaction: both raise the epoch, only the cursor topic tells which it was.
        "_FENCED",
        "_FATAL",  # what a producer says after it was fenced
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


def triage(name: str) -> Verdict:
    """Verdict on an error of any Kafka call, by its code name (``_TIMED_OUT``, ``NOT_LEADER…``).

    Unlisted errors (time-outs, transport, leader elections, too few replicas, unknown or aborted
    transactions, deleted topics, withdrawn rights) end the life of the producer: a new one reads
    the cursor and so learns what was committed. Nothing is ever skipped.
    """
    if name in _FENCED:
        return Verdict.FENCED
    if name in _STOP:
        return Verdict.STOP
    return Verdict.NEW_PRODUCER
