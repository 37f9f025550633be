"""Which librdkafka properties may be passed through, and why the others may not."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from bridge.config.problems import suggestion

__all__ = ["REFUSED", "property_problems"]

_FENCING: Final = "it identifies the relay to the broker; another one would not fence the last"
_ONCE: Final = "exactly once rests on it; bridge sets it"
_ORDER: Final = "the order within a partition rests on it; bridge sets it"
_COMMITTED: Final = "reading back only what was committed rests on it; bridge sets it"
_CURSOR: Final = "positions are kept in the relay's transactions, never in group offsets"
_DEADLINE: Final = "the relay's commit deadlines are built on it; bridge sets it"
_SIZE: Final = "bridge sets it from the topics' limits, else small records fail beside a large one"
_GROUP: Final = "it decides which relay owns a shard; bridge sets it"
_BATCHING: Final = "the relay flushes before each commit; waiting only adds latency"
_CALLBACK: Final = "it is set by program code, not by configuration"
_MOCK: Final = "the mock cluster neither fences nor hides aborted records"

REFUSED: Final[Mapping[str, str]] = {
    "bootstrap.servers": "use kafka.bootstrap_servers",
    "metadata.broker.list": "use kafka.bootstrap_servers",
    "transactional.id": _FENCING,
    "transaction.timeout.ms": _DEADLINE,
    "enable.idempotence": _ONCE,
    "enable.gapless.guarantee": _ONCE,
    "acks": _ONCE,
    "request.required.acks": _ONCE,
    "retries": _ONCE,
    "message.send.max.retries": _ONCE,
    "max.in.flight": _ORDER,
    "max.in.flight.requests.per.connection": _ORDER,
    "queuing.strategy": _ORDER,
    "partitioner": "records of one entity must stay in one partition, the same for every client",
    "msg_order_cmp": _ORDER,
    "delivery.timeout.ms": _DEADLINE,
    "message.timeout.ms": _DEADLINE,
    "delivery.report.only.error": "it hides outcomes of deliveries; bridge sets it",
    "batch.size": _SIZE,
    "message.max.bytes": _SIZE,
    "linger.ms": _BATCHING,
    "queue.buffering.max.ms": _BATCHING,
    "isolation.level": _COMMITTED,
    "enable.partition.eof": _COMMITTED,
    "auto.offset.reset": "nothing may jump to another place when a position is out of range",
    "allow.auto.create.topics": "topics are created explicitly, with the configured settings",
    "enable.auto.commit": _CURSOR,
    "auto.commit.enable": _CURSOR,
    "auto.commit.interval.ms": _CURSOR,
    "enable.auto.offset.store": _CURSOR,
    "offset.store.method": _CURSOR,
    "group.id": _GROUP,
    "group.instance.id": _GROUP,
    "group.protocol": _GROUP,
    "group.remote.assignor": _GROUP,
    "partition.assignment.strategy": _GROUP,
    "default.topic.config": "name the properties directly under kafka.properties",
    "plugin.library.paths": "it loads foreign code between bridge and the broker",
    "logger": _CALLBACK,
    "on_commit": _CALLBACK,
    "on_delivery": _CALLBACK,
    "opaque": _CALLBACK,
}
_REFUSED_PATTERNS: Final = (
    (re.compile(r".*_cb"), _CALLBACK),
    (re.compile(r"test\.mock\..*"), _MOCK),
)

# For nearest matches only: what users set most often.
_COMMON: Final = (
    "client.id",
    "client.rack",
    "compression.type",
    "debug",
    "fetch.min.bytes",
    "fetch.max.bytes",
    "log_level",
    "metadata.max.age.ms",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "socket.keepalive.enable",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "statistics.interval.ms",
)

# librdkafka applies properties in the order given and refuses the first bad one, so a name that
# cannot exist, put last, checks the others without a client ever being made.
_SENTINEL: Final = "bridge.no.such.property"


def property_problems(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (property, what is wrong) for each that is refused, unknown or ill-valued.

    Values never appear in the messages.
    """
    for name, value in properties.items():
        reason = _refusal(name)
        if reason is not None:
            yield name, f"may not be set: {reason}"
        else:
            verdict = _librdkafka_verdict(name, value)
            if verdict is not None:
                yield name, verdict


def _refusal(name: str) -> str | None:
    if name in REFUSED:
        return REFUSED[name]
    return next((why for pattern, why in _REFUSED_PATTERNS if pattern.fullmatch(name)), None)


def _librdkafka_verdict(name: str, value: str) -> str | None:
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 - slow, seldom needed

    try:
        Producer({name: value, _SENTINEL: ""})
    except KafkaException as error:
        message = error.args[0].str()
    if _SENTINEL in message:
        return None
    if message.startswith("No such configuration property"):
        return f"is unknown to librdkafka; {suggestion(name, (*_COMMON, *REFUSED))}"
    return "has a value that librdkafka does not accept"
