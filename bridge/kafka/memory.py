"""Publisher, cursor store and topic administration of a broker in memory, behind the same ports."""

from collections.abc import Iterable

from bridge.core.cursor import Cursor
from bridge.core.effects import Failed
from bridge.envelope.cursor_codec import decode_cursor
from bridge.envelope.naming import broker_form
from bridge.envelope.parked_codec import ParkedLedger
from bridge.envelope.records import OutboundRecord, TopicFacts
from bridge.errors import BridgeError, OperatorError, UnavailableError
from bridge.kafka.memory_broker import BrokerError, MemoryBroker, Session
from bridge.kafka.topics import TAG_TOPIC_CONFIG
from bridge.kafka.triage import triage

__all__ = ["MemoryCursorStore", "MemoryParkedStore", "MemoryPublisher", "MemoryTopics"]


class MemoryPublisher:
    """Transactions on a :class:`MemoryBroker`; see `bridge.kafka.publisher.KafkaPublisher`.

    As there, a producer lives from `open` to its first failure.
    """

    def __init__(
        self,
        broker: MemoryBroker,
        transactional_id: str,
        cursor_topic: str,
        cursor_partition: int,
        cursor_key: bytes,
    ) -> None:
        self._broker = broker
        self._id = transactional_id
        self._cursor = (cursor_topic, cursor_partition, cursor_key)
        self._session: Session | None = None

    def open(self, batch_bytes: int) -> Failed | None:  # noqa: ARG002
        """Fence every earlier producer with this transactional id."""
        self.close()
        try:
            self._session = self._broker.init(self._id)
        except BrokerError as fault:
            return _failed(fault, f"opening the producer {self._id}")
        return None

    def begin(self) -> Failed | None:
        """Begin a transaction."""
        self._broker.begin(self._live())
        return None

    def send(self, records: Iterable[OutboundRecord]) -> Failed | None:
        """Append records, in order."""
        session = self._live()
        try:
            for record in records:
                self._broker.produce(session, record)
        except BrokerError as fault:
            return self._give_up(fault, "producing")
        return None

    def commit(self, cursor: bytes) -> Failed | None:
        """Append the cursor and commit; after a failure the outcome is not known."""
        session = self._live()
        topic, partition, key = self._cursor
        try:
            self._broker.produce(session, OutboundRecord(topic, partition, key, cursor, 1, []))
        except BrokerError as fault:
            return self._give_up(fault, "sending the cursor")
        try:
            self._broker.commit(session)
        except BrokerError as fault:
            self._session = None  # never aborted: it may have been committed
            return _failed(fault, "committing a transaction")
        return None

    def close(self) -> None:
        """Drop the producer; an open transaction is aborted."""
        session, self._session = self._session, None
        if session is not None:
            self._broker.abort(session)

    def _give_up(self, fault: BrokerError, doing: str) -> Failed:
        self.close()
        return _failed(fault, doing)

    def _live(self) -> Session:
        if self._session is None:
            raise RuntimeError("the publisher is not open")
        return self._session


class MemoryCursorStore:
    """Reads the cursors of one shard; see `bridge.kafka.cursors.KafkaCursorStore`.

    It never waits: an open transaction at the end is an error at once.
    """

    def __init__(self, broker: MemoryBroker, topic: str, partition: int) -> None:
        self._broker = broker
        self._where = (topic, partition)

    def latest(self) -> Cursor | None:
        """The last committed cursor; None only if none was ever committed.

        Raises:
            UnavailableError: the broker cannot be asked, or an open transaction hides the end.
            OperatorError: it cannot be read.
        """
        try:
            end, stable = self._broker.end(*self._where), self._broker.stable(*self._where)
            records = self._broker.committed(*self._where)
        except BrokerError as fault:
            raise _error(fault, "reading the cursor") from fault
        values = [record.value for record in records if record.value is not None]
        if end == 0:
            return None
        if stable < end:
            raise UnavailableError(
                f"{self._where}: an open transaction hides what is behind offset {stable}",
                "it ends by its time-out or an abort",
            )
        return decode_cursor(values[-1]) if values else None


class MemoryParkedStore:
    """Reads what is parked of one shard; see `bridge.kafka.parked.KafkaParkedStore`.

    It never waits: an open transaction at the end is an error of `read` at once.
    """

    def __init__(self, broker: MemoryBroker, topic: str, partition: int) -> None:
        self._broker = broker
        self._where = (topic, partition)

    def read(self) -> ParkedLedger:
        """Everything that is committed.

        Raises:
            UnavailableError: the broker cannot be asked, or an open transaction hides the end.
            OperatorError: a record cannot be read.
        """
        ledger = self.follow()
        if self._broker.stable(*self._where) < self._broker.end(*self._where):
            raise UnavailableError(
                f"{self._where}: an open transaction hides what is behind it",
                "it ends by its time-out or an abort",
            )
        return ledger

    def follow(self) -> ParkedLedger:
        """What is visible by now. Raises as `read` does, but for open transactions."""
        ledger = ParkedLedger()
        try:
            records = self._broker.committed(*self._where)
        except BrokerError as fault:
            raise _error(fault, "reading the parked entities") from fault
        for record in records:
            ledger.apply(record.key, record.value)
        return ledger


class MemoryTopics:
    """Topic administration of a :class:`MemoryBroker`; see `bridge.kafka.topics.KafkaTopics`."""

    def __init__(self, broker: MemoryBroker, partitions: int) -> None:
        self._broker = broker
        self._partitions = partitions

    def ensure(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Facts of the topics; missing ones are created first."""
        wanted = list(names)
        try:
            forms = {broker_form(name): name for name in self._broker.topics()}
            for name in wanted:
                other = forms.setdefault(broker_form(name), name)
                if other != name:
                    raise OperatorError(f"topics {name} and {other} differ only in '.' and '_'")
                if name not in self._broker.topics():
                    self._broker.create_topic(name, self._partitions, TAG_TOPIC_CONFIG)
        except BrokerError as fault:
            raise _error(fault, "creating topics") from fault
        return self.facts(wanted)

    def facts(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Facts of the topics that exist."""
        try:
            topics = self._broker.topics()
        except BrokerError as fault:
            raise _error(fault, "describing topics") from fault
        return {name: topics[name].facts for name in names if name in topics}

    def existing(self) -> list[str]:
        """Names of all topics."""
        try:
            return sorted(self._broker.topics())
        except BrokerError as fault:
            raise _error(fault, "listing topics") from fault

    def first_with_records(self, names: Iterable[str]) -> str | None:
        """Name of a topic that holds, or once held, a record."""
        found = self.facts(names)
        used = (
            name
            for name, facts in found.items()
            if any(self._broker.end(name, number) for number in range(facts.partitions))
        )
        return next(used, None)


def _failed(fault: BrokerError, doing: str) -> Failed:
    return Failed(triage(fault.name), _error(fault, doing))


def _error(fault: BrokerError, doing: str) -> BridgeError:
    return UnavailableError(f"memory broker: {doing}: {fault.name}", "see why the broker refuses")
