"""Kafka exceptions → outcomes, by the triage table."""

from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from bridge.core.effects import Failed, Verdict
from bridge.errors import BridgeError, ConfigError, OperatorError, SetupError, UnavailableError
from bridge.kafka.triage import triage

__all__ = ["error_of", "failure_of", "made"]

T = TypeVar("T")


def failure_of(exception: KafkaException, doing: str) -> Failed:
    """Outcome for the relay's machine. `doing` says what was tried, e.g. ``committing``."""
    error = _kafka_error(exception)
    verdict = triage(error.name())
    return Failed(verdict, _bridge_error(error, verdict, doing))


def made(client: Callable[[dict[str, Any]], T], properties: dict[str, Any]) -> T:
    """Make a client; a property that it refuses is an error of the configuration."""
    try:
        return client(properties)
    except KafkaException as e:
        raise ConfigError(
            f"Kafka: the client refuses its properties: {_kafka_error(e).str()}",
            "correct kafka.properties",
        ) from e


def error_of(exception: KafkaException, doing: str) -> BridgeError:
    """The same as an exception to raise."""
    return failure_of(exception, doing).error


def _kafka_error(exception: KafkaException) -> KafkaError:
    error = exception.args[0]
    return error if isinstance(error, KafkaError) else KafkaError(KafkaError._FAIL, str(error))


def _bridge_error(error: KafkaError, verdict: Verdict, doing: str) -> BridgeError:
    what = f"Kafka: {doing}: {error.str()} ({error.name()})"
    if verdict is Verdict.STOP:
        return SetupError(what, "correct the setting or the right named in the message")
    if verdict is Verdict.FENCED:
        return OperatorError(what, "see whether another relay runs for this journal")
    if "AUTHORIZATION" in error.name():
        return UnavailableError(what, "give the relay's principal the right; it goes on by itself")
    return UnavailableError(what, "check that the brokers are up; it goes on by itself")
