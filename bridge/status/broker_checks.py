"""Are the brokers able to keep the promise?"""

from collections.abc import Iterator, Mapping

from bridge.errors import UnavailableError
from bridge.kafka.settings import TRANSACTION_TIMEOUT_MS
from bridge.kafka.topics import KafkaTopics
from bridge.status.checked import Checked

__all__ = ["ABOUT", "broker_problems", "check_brokers"]

ABOUT = "kafka"

_VERIFICATION = "transaction.partition.verification.enable"
_MAX_TIMEOUT = "transaction.max.timeout.ms"


def check_brokers(topics: KafkaTopics) -> Iterator[Checked]:
    """Version and limits of every broker.

    Raises:
        UnavailableError: no broker can be reached.
    """
    topics.existing()  # first, so that a missing right is told from a missing broker
    try:
        brokers = topics.broker_settings()
    except UnavailableError as e:
        if "AUTHORIZATION" not in e.what:
            raise
        what = f"the brokers' settings may not be read, their version is not known: {e.what}"
        yield Checked("warning", ABOUT, what, "grant DescribeConfigs on the cluster to be sure")
        return
    problems = [p for broker, found in brokers.items() for p in broker_problems(broker, found)]
    yield from problems
    if not problems:
        yield Checked("ok", ABOUT, f"{len(brokers)} brokers, transactions as required")


def broker_problems(broker: str, settings: Mapping[str, str]) -> Iterator[Checked]:
    """What is wrong with one broker.

    The protocol tells no version, but this setting came with 3.6 together with what it switches:
    brokers that verify a partition's transaction before they accept its records.
    """
    verification = settings.get(_VERIFICATION)
    if verification is None:
        what = f"broker {broker} has no setting {_VERIFICATION}: it is older than Kafka 3.6"
        yield Checked("error", ABOUT, what, "upgrade it: late records could hang a transaction")
    elif verification != "true":
        what = f"broker {broker} has {_VERIFICATION}={verification}"
        yield Checked("error", ABOUT, what, "set it to true: late records could hang a transaction")
    longest = settings.get(_MAX_TIMEOUT)
    if longest is not None and int(longest) < TRANSACTION_TIMEOUT_MS:
        what = f"broker {broker} has {_MAX_TIMEOUT}={longest}, {TRANSACTION_TIMEOUT_MS} is needed"
        yield Checked("error", ABOUT, what, "raise it")
