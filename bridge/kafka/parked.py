"""The topic of parked entities: read as a whole, followed, and asked for releases."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from bridge.core.parking import ReleaseRequest
from bridge.envelope.parked_codec import ParkedLedger, encode_request, request_key
from bridge.errors import OperatorError
from bridge.kafka.faults import error_of, made
from bridge.kafka.partition_log import PartitionLog
from bridge.kafka.settings import KafkaSettings

__all__ = ["KafkaParkedStore", "ask_for_release"]

ANSWER_S = 15.0
"""How long a request may take to reach the brokers."""


class KafkaParkedStore:
    """Reads what is parked of one shard of one journal.

    Args:
        topic: the compacted topic.
        partition: the shard's partition.
        wait_s: how long `read` waits for a foreign open transaction.
    """

    def __init__(
        self, settings: KafkaSettings, topic: str, partition: int, wait_s: float = 30.0
    ) -> None:
        self._log = PartitionLog(settings, topic, partition, wait_s)
        self._ledger = ParkedLedger()
        self._next = 0

    def read(self) -> ParkedLedger:
        """Everything that is committed; what other producers hold open is waited for.

        Raises:
            UnavailableError: the brokers cannot be asked, or an open transaction hides the end.
            OperatorError: a record cannot be read.
        """
        self._ledger, self._next = ParkedLedger(), 0
        return self._go_on(stable=False)

    def follow(self) -> ParkedLedger:
        """What is visible by now; nothing is waited for, and nothing read twice.

        Raises as `read` does.
        """
        return self._go_on(stable=True)

    def _go_on(self, *, stable: bool) -> ParkedLedger:
        try:
            begin, end = self._log.span(stable=stable)
            if end < self._next:
                raise OperatorError(
                    f"{self._log.shown} ends at offset {end}, it had {self._next} records before",
                    "the topic was deleted and made anew: what it said of parked entities is "
                    "lost; restore it",
                )
            start = max(begin, self._next)
            if start < end:
                with self._log.reader() as committed:
                    for record in committed(start, end):
                        self._ledger.apply(record.key, record.value)
            self._next = end
        except KafkaException as e:
            raise error_of(e, f"reading the parked entities in {self._log.shown}") from e
        return self._ledger


def ask_for_release(
    settings: KafkaSettings, topic: str, partition: int, requests: Iterable[ReleaseRequest]
) -> None:
    """Write requests; the relay performs them.

    Raises:
        UnavailableError: the brokers did not take it in time.
    """
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = made(Producer, settings.plain_producer(int(ANSWER_S * 1000)))
    try:
        for request in requests:
            key, value = request_key(request.persistence_id), encode_request(request)
            producer.produce(topic, value, key, partition, on_delivery=delivered)
        producer.flush()
        if failures:
            raise KafkaException(failures[0])
    except KafkaException as e:
        raise error_of(e, f"writing to {topic}") from e
