"""Transactional publisher: records and the cursor behind them in one Kafka transaction."""

import threading
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress

from confluent_kafka import KafkaException, Producer

from bridge.core.effects import Failed, Verdict
from bridge.envelope.records import OutboundRecord
from bridge.errors import UnavailableError
from bridge.kafka.faults import failure_of
from bridge.kafka.settings import KafkaSettings

__all__ = ["KafkaPublisher"]

INIT_TIMEOUT_S = 10.0
FLUSH_TIMEOUT_S = 12.0
"""Below the broker's transaction time-out: what is not out by then would be aborted anyway."""
COMMIT_TRY_S = 5.0
COMMIT_DEADLINE_S = 20.0
"""How long a commit of unknown outcome is repeated before the cursor topic is asked."""
ABORT_TIMEOUT_S = 3.0
SETTLED_S = 3600.0
"""How long a partition counts as settled; far below the broker's `producer.id.expiration.ms`."""
CLOSE_LIMIT_S = 2.0
_FULL_QUEUE_POLL_S = 0.05
_NOW = 0
"""A timestamp that the client replaces by its clock."""


class KafkaPublisher:
    """One transactional producer at a time.

    A producer lives from `open` to its first failure; after that only `open` is allowed.

    Args:
        settings: how to reach the brokers.
        transactional_id: stable name of the shard; the fence.
        cursor_topic: topic of cursors; the shard's own partition is `cursor_partition`.
        cursor_key: key of the cursor record, for compaction.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        transactional_id: str,
        cursor_topic: str,
        cursor_partition: int,
        cursor_key: bytes,
    ) -> None:
        self._settings = settings
        self._id = transactional_id
        self._cursor_topic = cursor_topic
        self._cursor_partition = cursor_partition
        self._cursor_key = cursor_key
        self._producer: Producer | None = None
        self._settled: set[tuple[str, int]] = set()
        self._begun: set[tuple[str, int]] = set()
        self._settled_until = 0.0

    def open(self, batch_bytes: int) -> Failed | None:
        """Make a producer and fence every earlier one with this transactional id."""
        self.close()
        self._settled_until = 0.0
        try:
            self._producer = Producer(self._settings.producer(self._id, batch_bytes))
            self._producer.init_transactions(INIT_TIMEOUT_S)
        except KafkaException as e:
            self.close()
            return failure_of(e, f"opening the producer {self._id}")
        return None

    def begin(self) -> Failed | None:
        """Begin a transaction."""
        if (now := time.monotonic()) > self._settled_until:
            self._settled, self._settled_until = set(), now + SETTLED_S
        self._begun.clear()
        try:
            self._live().begin_transaction()
        except KafkaException as e:
            return self._give_up(failure_of(e, "beginning a transaction"))
        return None

    def send(self, records: Iterable[OutboundRecord]) -> Failed | None:
        """Queue records, in order; waits while the client's queue is full."""
        produce, settled = self._live().produce, self._settled
        deadline = time.monotonic() + FLUSH_TIMEOUT_S
        for topic, partition, key, value, timestamp_ms, headers in records:
            if (topic, partition) not in settled and (failure := self._settle(topic, partition)):
                return failure
            while True:
                try:
                    produce(
                        topic,
                        value,
                        key,
                        partition,
                        timestamp=timestamp_ms,
                        headers=headers,  # type: ignore[arg-type]  # lists are invariant
                    )
                    break
                except BufferError:
                    if time.monotonic() > deadline:
                        return self._give_up(_stuck("the client's queue stayed full"))
                    self._live().poll(_FULL_QUEUE_POLL_S)
                except KafkaException as e:
                    return self._give_up(failure_of(e, f"producing to {topic}"))
        return None

    def commit(self, cursor: bytes) -> Failed | None:
        """Send the cursor, wait for all deliveries, commit.

        After a failure it is not known whether the transaction was committed: the next producer
        learns it from the cursor topic.
        """
        where = (self._cursor_topic, self._cursor_partition, self._cursor_key)
        if failure := self.send([OutboundRecord(*where, cursor, _NOW, [])]):
            return failure
        return self._flush() or self._commit(self._live())

    def close(self) -> None:
        """Drop the producer with everything queued in it; an open transaction is aborted."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            # The client's close() aborts and flushes without a limit: with the brokers away it
            # would keep the relay from ever stopping or trying again. What it leaves open, the
            # next producer's init ends; a late abort of its own is fenced by then.
            closing = threading.Thread(target=_close, args=(producer,), daemon=True)
            closing.start()
            closing.join(CLOSE_LIMIT_S)

    def _settle(self, topic: str, partition: int) -> Failed | None:
        """See to it that a partition's first record is acknowledged before its second is sent.

        A broker that knows nothing of a producer in a partition takes any sequence number for the
        first. When it refuses the first batch, because it does not host a new partition yet, and
        then takes the second, it tells the first one, sent again, to be a repetition: the
        transaction commits without it and without an error (seen for one topic in ten that was
        used as soon as its metadata was there).
        """
        where = (topic, partition)
        if where not in self._begun:
            self._begun.add(where)
            return None
        return self._flush()

    def _flush(self) -> Failed | None:
        try:
            if (left := self._live().flush(FLUSH_TIMEOUT_S)) > 0:
                return self._give_up(_stuck(f"{left} records were not delivered in time"))
        except KafkaException as e:
            return self._give_up(failure_of(e, "delivering records"))
        self._settled |= self._begun
        return None

    def _commit(self, producer: Producer) -> Failed | None:
        deadline = time.monotonic() + COMMIT_DEADLINE_S
        while True:
            try:
                producer.commit_transaction(COMMIT_TRY_S)
            except KafkaException as e:
                error = e.args[0]
                # Unknown outcome: only the same call again may be made, never an abort.
                if error.retriable() and time.monotonic() < deadline:
                    continue
                failure = failure_of(e, "committing a transaction")
                if error.txn_requires_abort():
                    return self._give_up(failure)
                self.close()
                return failure
            return None

    def _give_up(self, failure: Failed) -> Failed:
        """Abort, best effort: whatever it leaves open, the next producer's init ends."""
        producer = self._producer
        if producer is not None and failure.verdict is not Verdict.FENCED:
            producer.purge()
            try:
                producer.abort_transaction(ABORT_TIMEOUT_S)
            except KafkaException as e:
                failure.error.add_note(f"the abort failed too: {e}")
        self.close()
        return failure

    def _live(self) -> Producer:
        if self._producer is None:
            raise RuntimeError("the publisher is not open")
        return self._producer


def _close(producer: Producer) -> None:
    with warnings.catch_warnings(), suppress(KafkaException):
        # It warns or raises where there is nothing to abort: a fenced producer.
        warnings.simplefilter("ignore", RuntimeWarning)
        producer.close()


def _stuck(what: str) -> Failed:
    error = UnavailableError(f"Kafka: {what}", "check the brokers; the relay goes on by itself")
    return Failed(Verdict.NEW_PRODUCER, error)
