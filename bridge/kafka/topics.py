"""Topics: created explicitly, their facts and identities."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from bridge.core.cursor import TopicIdentity
from bridge.envelope.naming import broker_form
from bridge.envelope.records import TopicFacts
from bridge.errors import OperatorError, UnavailableError
from bridge.kafka.faults import error_of, made
from bridge.kafka.settings import KafkaSettings

__all__ = [
    "KafkaTopics",
    "TopicDefaults",
    "cursor_topic_name",
    "dead_letter_topic_name",
    "parked_topic_name",
]

T = TypeVar("T")

CALL_TIMEOUT_S = 10.0
RESULT_TIMEOUT_S = 15.0
"""Above the call's own time-out, so that its error arrives, not a bare time-out of the wait."""

_METADATA_PAUSE_S = 0.02

_FOREVER = str(2**63 - 1)

TAG_TOPIC_CONFIG = {
    "cleanup.policy": "delete",
    # The topic is the log that projections are rebuilt from.
    "retention.ms": "-1",
    "retention.bytes": "-1",
    # Record times are event times: old ones would roll a segment a day, far ones be refused.
    "segment.ms": _FOREVER,
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": _FOREVER,
    "message.timestamp.before.max.ms": _FOREVER,
}

COMPACTED_TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
    "unclean.leader.election.enable": "false",
}


def cursor_topic_name(app: str, journal: str) -> str:
    """Name of the compacted topic that holds a journal's cursors."""
    return f"{app}--{journal}--cursors"


def parked_topic_name(app: str, journal: str) -> str:
    """Name of the compacted topic that tells which of a journal's entities are parked."""
    return f"{app}--{journal}--parked"


def dead_letter_topic_name(app: str, journal: str) -> str:
    """Name of the topic that holds the events of parked entities."""
    return f"{app}--{journal}--dlq"


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """How new topics are made; `replication_factor` -1 means the broker's default."""

    partitions: int
    replication_factor: int


class KafkaTopics:
    """Topic administration; every call raises errors of :mod:`bridge.errors`."""

    def __init__(self, settings: KafkaSettings, defaults: TopicDefaults) -> None:
        self._client = settings.client()
        self._admin = made(AdminClient, self._client)
        self._servers = settings.bootstrap_servers
        self._defaults = defaults

    def ensure(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Facts of the topics; missing ones are created first."""
        wanted = list(names)
        missing = [name for name in wanted if name not in self._describe(wanted)]
        if missing:
            self.create(missing, self._defaults.partitions, TAG_TOPIC_CONFIG)
        return self.facts(wanted)

    def create(self, names: Iterable[str], partitions: int, config: Mapping[str, str]) -> None:
        """Create topics and wait until they have leaders; existing ones are left as they are."""
        names = list(names)
        self._refuse_collisions(names)
        new = [
            NewTopic(
                name,
                num_partitions=partitions,
                replication_factor=self._defaults.replication_factor,
                config={**config, **self._in_sync()},
            )
            for name in names
        ]
        for name, future in self._admin.create_topics(
            new, operation_timeout=CALL_TIMEOUT_S, request_timeout=CALL_TIMEOUT_S
        ).items():
            try:
                future.result(RESULT_TIMEOUT_S)
            except KafkaException as e:
                if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise error_of(e, f"creating topic {name}") from e
        self._await(names)

    def facts(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Facts of the topics that exist."""
        return {name: facts for name, (facts, _) in self.facts_and_settings(names).items()}

    def facts_and_settings(
        self, names: Iterable[str]
    ) -> dict[str, tuple[TopicFacts, dict[str, str]]]:
        """Facts of the topics that exist, and all their settings."""
        described = self._describe(names)
        settings = self._settings(ResourceType.TOPIC, described, "topic settings")
        return {name: (_facts(described[name], found), found) for name, found in settings.items()}

    def identities(self, names: Iterable[str]) -> dict[str, TopicIdentity]:
        """Ids and partitions of the topics that exist; cheaper than `facts`."""
        return {
            name: TopicIdentity(name, str(found.topic_id), len(found.partitions))
            for name, found in self._describe(names).items()
        }

    def existing(self) -> list[str]:
        """Names of all topics that this client may see."""
        return sorted(self._metadata("listing topics").topics)

    def first_with_records(self, names: Iterable[str]) -> str | None:
        """Name of a topic that holds, or once held, a record; None when all are untouched."""
        described = self._describe(names)
        where = [TopicPartition(name, p.id) for name, d in described.items() for p in d.partitions]
        if not where:
            return None
        futures = self._admin.list_offsets(
            {tp: OffsetSpec.latest() for tp in where}, request_timeout=CALL_TIMEOUT_S
        )
        used = (tp.topic for tp, future in futures.items() if _result(future, tp.topic).offset > 0)
        return next(used, None)

    def await_visible(self, names: Iterable[str], limit_s: float = CALL_TIMEOUT_S) -> None:
        """Return once `read_committed` readers can see the topics to their ends.

        Just after a commit its records can stay invisible for some ms.

        Raises:
            UnavailableError: an open transaction hides an end for longer than `limit_s`.
        """
        deadline = time.monotonic() + limit_s
        described = self._describe(names)
        where = [TopicPartition(name, p.id) for name, d in described.items() for p in d.partitions]
        while (hidden := self._hidden(where)) is not None:
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"Kafka: the end of {hidden} is hidden by an open transaction",
                    "everything is published; readers see it once that transaction ends",
                )
            time.sleep(_METADATA_PAUSE_S)

    def _hidden(self, where: list[TopicPartition]) -> str | None:
        committed = self._ends(where, IsolationLevel.READ_COMMITTED)
        ends = self._ends(where, IsolationLevel.READ_UNCOMMITTED)
        return next((name for name, end in ends.items() if committed[name] < end), None)

    def _ends(self, where: list[TopicPartition], isolation: IsolationLevel) -> dict[str, int]:
        if not where:
            return {}
        futures = self._admin.list_offsets(
            {tp: OffsetSpec.latest() for tp in where},
            isolation_level=isolation,
            request_timeout=CALL_TIMEOUT_S,
        )
        return {
            f"{tp.topic}[{tp.partition}]": _result(future, tp.topic).offset
            for tp, future in futures.items()
        }

    def broker_settings(self) -> dict[str, dict[str, str]]:
        """Settings of each broker by its id: limits that safety rests on are among them."""
        brokers = [str(broker) for broker in self._metadata("listing brokers").brokers]
        return self._settings(ResourceType.BROKER, brokers, "broker settings")

    def _settings(
        self, kind: ResourceType, names: Iterable[str], what: str
    ) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(kind, name) for name in names]
        # A broker's own settings are told by that broker alone: one call for each.
        apart = kind is ResourceType.BROKER
        calls = [[r] for r in resources] if apart else [resources] if resources else []
        futures: dict[ConfigResource, Future[dict[str, ConfigEntry]]] = {}
        for call in calls:
            futures |= self._admin.describe_configs(call, request_timeout=CALL_TIMEOUT_S)
        return {
            resource.name: {
                key: entry.value
                for key, entry in _result(future, what).items()
                if entry.value is not None
            }
            for resource, future in futures.items()
        }

    def _metadata(self, doing: str) -> ClusterMetadata:
        try:
            return self._admin.list_topics(timeout=CALL_TIMEOUT_S)
        except KafkaException as e:
            raise error_of(e, doing) from e

    def _describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        self._admin.poll(0)  # hands over the client's log lines, which would pile up
        names = list(names)
        if not names:
            return {}
        futures = self._admin.describe_topics(
            TopicCollection(names), request_timeout=CALL_TIMEOUT_S
        )
        found = {}
        for name, future in futures.items():
            try:
                found[name] = future.result(RESULT_TIMEOUT_S)
            except KafkaException as e:
                if e.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    # It may go on waiting for a controller that is gone; another one asks anew.
                    self._admin = made(AdminClient, self._client)
                    raise error_of(e, f"asking {self._servers} for topic {name}") from e
        return found

    def _await(self, names: list[str]) -> None:
        """Creation is acknowledged before every broker knows of it."""
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while len(self._describe(names)) < len(names):
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"Kafka: topics {', '.join(names)} were created but do not appear",
                    "check the brokers' controller and metadata; it goes on by itself",
                )
            time.sleep(_METADATA_PAUSE_S)

    def _refuse_collisions(self, names: list[str]) -> None:
        """A broker's metrics cannot tell '.' from '_' in names."""
        forms = {broker_form(name): name for name in self.existing()}
        for name in names:
            other = forms.setdefault(broker_form(name), name)
            if other != name:
                raise OperatorError(
                    f"topics {name} and {other} differ only in '.' and '_': brokers refuse that",
                    "give one of the tags another topic name under topics.map",
                )

    def _in_sync(self) -> dict[str, str]:
        """Two replicas must hold a record where the cluster has three; else none may be lost."""
        brokers = len(self._metadata("counting brokers").brokers)
        factor = self._defaults.replication_factor
        replicas = brokers if factor == -1 else factor
        return {"min.insync.replicas": "2"} if min(brokers, replicas) >= 3 else {}


def _facts(description: TopicDescription, settings: Mapping[str, str]) -> TopicFacts:
    def number(name: str, default: int) -> int:
        return int(settings[name]) if name in settings else default

    forever = int(_FOREVER)
    return TopicFacts(
        name=description.name,
        topic_id=str(description.topic_id),
        partitions=len(description.partitions),
        max_message_bytes=number("max.message.bytes", 1_048_588),
        retention_ms=number("retention.ms", -1),
        timestamp_before_max_ms=number("message.timestamp.before.max.ms", forever),
        timestamp_after_max_ms=number("message.timestamp.after.max.ms", forever),
        append_time=settings["message.timestamp.type"] == "LogAppendTime",
    )


def _result(future: "Future[T]", what: str) -> T:
    try:
        return future.result(RESULT_TIMEOUT_S)
    except KafkaException as e:
        raise error_of(e, f"asking for {what}") from e
