"""Topics: created explicitly, their facts and identities."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from bridge.envelope.naming import broker_form
from bridge.envelope.records import TopicFacts
from bridge.errors import OperatorError, UnavailableError
from bridge.kafka.faults import error_of
from bridge.kafka.settings import KafkaSettings

__all__ = ["KafkaTopics", "TopicDefaults", "cursor_topic_name"]

T = TypeVar("T")

CALL_TIMEOUT_S = 10.0
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

CURSOR_TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
    "unclean.leader.election.enable": "false",
}


def cursor_topic_name(app: str, journal: str) -> str:
    """Name of the compacted topic that holds a journal's cursors."""
    return f"{app}--{journal}--cursors"


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """How new topics are made; `replication_factor` -1 means the broker's default."""

    partitions: int
    replication_factor: int


class KafkaTopics:
    """Topic administration; every call raises errors of :mod:`bridge.errors`."""

    def __init__(self, settings: KafkaSettings, defaults: TopicDefaults) -> None:
        self._admin = AdminClient(settings.client())
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
                future.result(CALL_TIMEOUT_S)
            except KafkaException as e:
                if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise error_of(e, f"creating topic {name}") from e
        self._await(names)

    def facts(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Facts of the topics that exist."""
        described = self._describe(names)
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in described]
        if not resources:
            return {}
        futures = self._admin.describe_configs(resources, request_timeout=CALL_TIMEOUT_S)
        return {
            resource.name: _facts(described[resource.name], _result(future, "topic settings"))
            for resource, future in futures.items()
        }

    def existing(self) -> list[str]:
        """Names of all topics that this client may see."""
        try:
            return sorted(self._admin.list_topics(timeout=CALL_TIMEOUT_S).topics)
        except KafkaException as e:
            raise error_of(e, "listing topics") from e

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

    def broker_settings(self) -> dict[str, str]:
        """Settings of one broker: version and limits that safety rests on are among them."""
        metadata = self._admin.list_topics(timeout=CALL_TIMEOUT_S)
        broker = ConfigResource(ResourceType.BROKER, str(next(iter(metadata.brokers))))
        future = self._admin.describe_configs([broker], request_timeout=CALL_TIMEOUT_S)[broker]
        return {name: entry.value for name, entry in _result(future, "broker settings").items()}

    def _describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        names = list(names)
        if not names:
            return {}
        futures = self._admin.describe_topics(
            TopicCollection(names), request_timeout=CALL_TIMEOUT_S
        )
        found = {}
        for name, future in futures.items():
            try:
                found[name] = future.result(CALL_TIMEOUT_S)
            except KafkaException as e:
                if e.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise error_of(e, f"describing topic {name}") from e
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
                    f"topics {name!r} and {other!r} differ only in '.' and '_', which brokers refuse",
                    "give one of the tags another topic name under topics.map",
                )

    def _in_sync(self) -> dict[str, str]:
        """Two replicas must hold a record where the cluster has three; else none may be lost."""
        brokers = len(self._admin.list_topics(timeout=CALL_TIMEOUT_S).brokers)
        factor = self._defaults.replication_factor
        replicas = brokers if factor == -1 else factor
        return {"min.insync.replicas": "2"} if min(brokers, replicas) >= 3 else {}


def _facts(description: TopicDescription, settings: Mapping[str, Any]) -> TopicFacts:
    def number(name: str, default: int) -> int:
        return int(settings[name].value) if name in settings else default

    forever = int(_FOREVER)
    return TopicFacts(
        name=description.name,
        topic_id=str(description.topic_id),
        partitions=len(description.partitions),
        max_message_bytes=number("max.message.bytes", 1_048_588),
        retention_ms=number("retention.ms", -1),
        timestamp_before_max_ms=number("message.timestamp.before.max.ms", forever),
        timestamp_after_max_ms=number("message.timestamp.after.max.ms", forever),
        append_time=settings["message.timestamp.type"].value == "LogAppendTime",
    )


def _result(future: "Future[T]", what: str) -> T:
    try:
        return future.result(CALL_TIMEOUT_S)
    except KafkaException as e:
        raise error_of(e, f"asking for {what}") from e
