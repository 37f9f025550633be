"""A broker in memory that keeps the failure semantics of a real one; see `memory` for its clients.

Fencing by transactional id, records of aborted and open transactions hidden from ``read_committed``
readers, the last stable offset, transaction time-outs, topic ids, size limits, and commits whose
answer is lost. Nothing happens by itself: time moves when `advance` is called.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from threading import RLock

from bridge.envelope.headers import Header
from bridge.envelope.records import OutboundRecord, TopicFacts, exact_size

__all__ = ["BrokerError", "LostAnswer", "MemoryBroker", "MemoryTopic", "Session", "StoredRecord"]

_FOREVER = 2**63 - 1


class BrokerError(Exception):
    """What the broker answers instead; `name` as in Kafka's protocol."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class LostAnswer(Enum):
    """What had happened to the commit whose answer never came."""

    COMMITTED = auto()
    NOT_COMMITTED = auto()


class _Fate(Enum):
    OPEN = auto()
    COMMITTED = auto()
    ABORTED = auto()


@dataclass(slots=True)
class _Transaction:
    began_ms: float
    fate: _Fate = _Fate.OPEN
    touched: list["_Partition"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as a consumer gets it."""

    offset: int
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[Header, ...]


@dataclass(slots=True)
class _Partition:
    log: list[tuple[_Transaction | None, StoredRecord | None]] = field(default_factory=list)

    @property
    def stable(self) -> int:
        """The last stable offset: where the first open transaction begins."""
        for offset, (transaction, _) in enumerate(self.log):
            if transaction is not None and transaction.fate is _Fate.OPEN:
                return offset
        return len(self.log)

    def committed(self) -> Iterator[StoredRecord]:
        """What a ``read_committed`` consumer gets."""
        for transaction, record in self.log[: self.stable]:
            hidden = transaction is not None and transaction.fate is _Fate.ABORTED
            if record is not None and not hidden:
                yield record


@dataclass(slots=True)
class MemoryTopic:
    """A topic: its facts and its partitions' logs."""

    facts: TopicFacts
    partitions: list[_Partition]


@dataclass(slots=True)
class _Owner:
    """What the coordinator knows of a transactional id."""

    epoch: int = 0
    transaction: _Transaction | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A producer's right to its transactional id, until a later one takes it."""

    transactional_id: str
    epoch: int


class MemoryBroker:
    """Topics and transactions of a cluster.

    Attributes:
        reachable: False: every call fails as if all brokers were down.
    """

    def __init__(self, transaction_timeout_ms: float = 15_000) -> None:
        self.reachable = True
        self._timeout_ms = transaction_timeout_ms
        self._now_ms = 0.0
        self._lock = RLock()
        self._topics: dict[str, MemoryTopic] = {}
        self._topics_made = 0
        self._owners: dict[str, _Owner] = {}
        self._lost_answers: list[LostAnswer] = []

    # --- for tests: what the world does -----------------------------------------------------

    def advance(self, ms: float) -> None:
        """Let time pass; transactions that took too long are aborted and their owners fenced."""
        with self._lock:
            self._now_ms += ms
            for owner in self._owners.values():
                open_ = owner.transaction
                if open_ is not None and self._now_ms - open_.began_ms >= self._timeout_ms:
                    self._finish(owner, _Fate.ABORTED)
                    owner.epoch += 1

    def lose_next_commit(self, happened: LostAnswer) -> None:
        """The answer to the next commit never comes."""
        self._lost_answers.append(happened)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records; one of the same name will have another id."""
        self._topics.pop(name, None)

    # --- topics -----------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Create a topic; `settings` as Kafka names them."""
        with self._lock:
            self.require_reachable()
            if name in self._topics:
                raise BrokerError("TOPIC_ALREADY_EXISTS")
            self._topics_made += 1
            facts = TopicFacts(
                name=name,
                topic_id=f"topic-{self._topics_made}",
                partitions=partitions,
                max_message_bytes=int(settings.get("max.message.bytes", 1_048_588)),
                retention_ms=int(settings.get("retention.ms", 604_800_000)),
                timestamp_before_max_ms=_FOREVER,
                timestamp_after_max_ms=int(
                    settings.get("message.timestamp.after.max.ms", 3_600_000)
                ),
                append_time=False,
            )
            self._topics[name] = MemoryTopic(facts, [_Partition() for _ in range(partitions)])

    def topics(self) -> Mapping[str, MemoryTopic]:
        """All topics by name."""
        self.require_reachable()
        return self._topics

    def end(self, topic: str, partition: int) -> int:
        """The true end of a partition."""
        return len(self._partition(topic, partition).log)

    def stable(self, topic: str, partition: int) -> int:
        """The last stable offset of a partition."""
        return self._partition(topic, partition).stable

    def committed(self, topic: str, partition: int) -> list[StoredRecord]:
        """What a ``read_committed`` consumer gets of a partition."""
        with self._lock:
            return list(self._partition(topic, partition).committed())

    # --- transactions -----------------------------------------------------------------------

    def init(self, transactional_id: str) -> Session:
        """Fence all earlier producers of this id; their open transaction is aborted."""
        with self._lock:
            self.require_reachable()
            owner = self._owners.setdefault(transactional_id, _Owner())
            self._finish(owner, _Fate.ABORTED)
            owner.epoch += 1
            return Session(transactional_id, owner.epoch)

    def begin(self, session: Session) -> None:
        """Begin a transaction. A client does this by itself: the coordinator is not asked."""
        owner = self._owners[session.transactional_id]
        if owner.epoch == session.epoch:
            owner.transaction = _Transaction(self._now_ms)

    def produce(self, session: Session, record: OutboundRecord) -> None:
        """Append a record inside the session's transaction."""
        with self._lock:
            transaction = self._open_transaction(session)
            facts = self._topic(record.topic).facts
            if exact_size(record) > facts.max_message_bytes:
                raise BrokerError("MSG_SIZE_TOO_LARGE")
            log = self._partition(record.topic, record.partition)
            transaction.touched.append(log)
            stored = StoredRecord(
                len(log.log),
                record.partition,
                record.key,
                record.value,
                record.timestamp_ms,
                tuple(record.headers),
            )
            log.log.append((transaction, stored))

    def commit(self, session: Session) -> None:
        """Commit the session's transaction."""
        with self._lock:
            self._open_transaction(session)
            owner = self._owners[session.transactional_id]
            if not self._lost_answers:
                self._finish(owner, _Fate.COMMITTED)
                return
            if self._lost_answers.pop(0) is LostAnswer.COMMITTED:
                self._finish(owner, _Fate.COMMITTED)
            raise BrokerError("_TIMED_OUT")

    def abort(self, session: Session) -> None:
        """Abort the session's transaction, if it is still the session's to abort."""
        with self._lock:
            owner = self._owners[session.transactional_id]
            if self.reachable and owner.epoch == session.epoch:
                self._finish(owner, _Fate.ABORTED)

    def require_reachable(self) -> None:
        """Raise BrokerError when the brokers are down."""
        if not self.reachable:
            raise BrokerError("_ALL_BROKERS_DOWN")

    def _open_transaction(self, session: Session) -> _Transaction:
        self.require_reachable()
        owner = self._owners[session.transactional_id]
        if owner.epoch != session.epoch:
            raise BrokerError("_FENCED")
        if owner.transaction is None:
            raise BrokerError("INVALID_TXN_STATE")
        return owner.transaction

    def _finish(self, owner: _Owner, fate: _Fate) -> None:
        transaction, owner.transaction = owner.transaction, None
        if transaction is None:
            return
        transaction.fate = fate
        for partition in {id(log): log for log in transaction.touched}.values():
            partition.log.append((None, None))  # the marker takes an offset, too

    def _topic(self, name: str) -> MemoryTopic:
        self.require_reachable()
        topic = self._topics.get(name)
        if topic is None:
            raise BrokerError("UNKNOWN_TOPIC_OR_PART")
        return topic

    def _partition(self, topic: str, partition: int) -> _Partition:
        partitions = self._topic(topic).partitions
        if not 0 <= partition < len(partitions):
            raise BrokerError("UNKNOWN_TOPIC_OR_PART")
        return partitions[partition]
