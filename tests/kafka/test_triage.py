"""What each Kafka error asks of the relay."""

import pytest
from confluent_kafka import KafkaError

from bridge.core.effects import Verdict
from bridge.kafka.triage import triage

_FENCED = ["_FATAL", "_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"]
_STOP = [
    "_INVALID_ARG",
    "_UNSUPPORTED_FEATURE",
    "_NOT_CONFIGURED",
    "UNSUPPORTED_VERSION",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "INVALID_TRANSACTION_TIMEOUT",
    "INVALID_CONFIG",
    "INVALID_REPLICATION_FACTOR",
    "INVALID_PARTITIONS",
    "TOPIC_EXCEPTION",
    "POLICY_VIOLATION",
    "SASL_AUTHENTICATION_FAILED",
    "_AUTHENTICATION",
    "_SSL",
]
_NEW_PRODUCER = [
    "_TIMED_OUT",
    "_MSG_TIMED_OUT",
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_PURGE_QUEUE",
    "_STATE",
    "_FAIL",
    "REQUEST_TIMED_OUT",
    "NOT_LEADER_FOR_PARTITION",
    "LEADER_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "COORDINATOR_NOT_AVAILABLE",
    "CONCURRENT_TRANSACTIONS",
    "UNKNOWN_TOPIC_OR_PART",
    "UNKNOWN_PRODUCER_ID",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",
    "TOPIC_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "MSG_SIZE_TOO_LARGE",
    "INVALID_TIMESTAMP",
    "an error that a later client may bring",
]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [(name, Verdict.FENCED) for name in _FENCED]
    + [(name, Verdict.STOP) for name in _STOP]
    + [(name, Verdict.NEW_PRODUCER) for name in _NEW_PRODUCER],
)
def test_each_error_asks_for_one_thing(name: str, verdict: Verdict) -> None:
    assert triage(name) is verdict


def test_the_names_are_those_of_the_client() -> None:
    codes = [code for code in vars(KafkaError).values() if isinstance(code, int)]
    known = {KafkaError(code).name() for code in codes}
    assert set(_FENCED + _STOP + _NEW_PRODUCER[:-1]) <= known


def test_no_error_is_ever_answered_by_going_on_with_the_same_producer() -> None:
    codes = [code for code in vars(KafkaError).values() if isinstance(code, int)]
    verdicts = {triage(KafkaError(code).name()) for code in codes}
    assert verdicts == {Verdict.FENCED, Verdict.STOP, Verdict.NEW_PRODUCER}
