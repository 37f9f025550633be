"""Removing what was made on brokers for a while."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from bridge.kafka.faults import error_of, made
from bridge.kafka.settings import KafkaSettings
from bridge.kafka.topics import CALL_TIMEOUT_S, RESULT_TIMEOUT_S

__all__ = ["remove"]

_GONE = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.GROUP_ID_NOT_FOUND,
}


def remove(settings: KafkaSettings, topics: Iterable[str], groups: Iterable[str]) -> None:
    """Delete topics and consumer groups; those that do not exist are no error.

    Raises:
        BridgeError: the brokers cannot be reached, or do not allow it.
    """
    admin = made(AdminClient, settings.client())
    limits = {"request_timeout": CALL_TIMEOUT_S}
    topics, groups = list(topics), list(groups)
    deleted = admin.delete_topics(topics, **limits) if topics else {}
    left = admin.delete_consumer_groups(groups, **limits) if groups else {}
    for name, future in {**deleted, **left}.items():
        try:
            future.result(RESULT_TIMEOUT_S)
        except KafkaException as e:
            if e.args[0].code() not in _GONE:
                raise error_of(e, f"deleting {name}") from e
