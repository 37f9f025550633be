"""Removing what was made on brokers for a while."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from bridge.kafka.faults import error_of, made
from bridge.kafka.settings import KafkaSettings
from bridge.kafka.topics import CALL_TIMEOUT_S, RESULT_TIMEOUT_S

__all__ = ["remove"]

_GONE = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.GROUP_ID_NOT_FOUND}
_PASSING = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NON_EMPTY_GROUP,  # a member that has just left may still be counted
    KafkaError._TIMED_OUT,  # a coordinator that is just being elected
}
_PATIENCE_S = 30.0
_PAUSE_S = 0.2


def remove(settings: KafkaSettings, topics: Iterable[str], groups: Iterable[str]) -> None:
    """Delete topics and consumer groups; those that do not exist are no error.

    Raises:
        BridgeError: the brokers cannot be reached, or do not allow it.
    """
    admin = made(AdminClient, settings.client())
    for topic in topics:
        _delete(topic, lambda name: admin.delete_topics([name], request_timeout=CALL_TIMEOUT_S))
    for group in groups:
        _delete(
            group,
            lambda name: admin.delete_consumer_groups([name], request_timeout=CALL_TIMEOUT_S),
        )


def _delete(name: str, ask: Callable[[str], Mapping[str, "Future[None]"]]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            ask(name)[name].result(RESULT_TIMEOUT_S)
        except KafkaException as e:
            code = e.args[0].code()
            if code in _PASSING and time.monotonic() < deadline:
                time.sleep(_PAUSE_S)
                continue
            if code not in _GONE:
                raise error_of(e, f"deleting {name}") from e
        return
