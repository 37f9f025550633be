"""The brokers of the demonstration: real ones, or librdkafka's built-in test cluster."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import structlog

from bridge.config import Config
from bridge.demo.readmodel import PROJECTION
from bridge.errors import BridgeError, UnavailableError
from bridge.kafka.brokers import Brokers, brokers_of
from bridge.kafka.mock_cluster import MockCluster
from bridge.kafka.removal import remove

__all__ = ["Reach", "cleaning", "open_brokers", "tidied"]

Reach = Callable[[Config], Brokers]
"""Makes what reaches the brokers."""

_REMOVAL_S = 10.0
_PAUSE_S = 0.2

_log = structlog.get_logger("bridge.demo")


def open_brokers(stack: ExitStack, bootstrap_servers: str | None) -> tuple[str, Reach]:
    """Address of the brokers, and how they are reached.

    Args:
        stack: ends the built-in test cluster.
        bootstrap_servers: of real brokers; None starts the built-in test cluster.
    """
    if bootstrap_servers is not None:
        return bootstrap_servers, brokers_of
    cluster = stack.enter_context(MockCluster())
    return cluster.bootstrap_servers, cluster.brokers


@contextmanager
def tidied(brokers: Brokers, run: str) -> Iterator[None]:
    """Remove at the end what the run named `run` has made on real brokers.

    Raises:
        BridgeError: the brokers cannot be asked; nothing was made then.
    """
    brokers.topics.existing()
    try:
        yield
    finally:
        with cleaning(f"topics and groups whose names begin with {run}"):
            remove(brokers.settings, _topics_of(brokers, run), [f"{run}--projection--{PROJECTION}"])
            _await_removal(brokers, run)


def _topics_of(brokers: Brokers, run: str) -> list[str]:
    return [t for t in brokers.topics.existing() if t.startswith((f"{run}.", f"{run}--"))]


def _await_removal(brokers: Brokers, run: str) -> None:
    """A client that was still ending may have asked for a topic, and so have made it anew."""
    deadline = time.monotonic() + _REMOVAL_S
    while left := _topics_of(brokers, run):
        if time.monotonic() > deadline:
            raise UnavailableError(f"Kafka: topics {', '.join(left)} do not go")
        time.sleep(_PAUSE_S)
        remove(brokers.settings, left, [])


@contextmanager
def cleaning(what: str) -> Iterator[None]:
    """Say what is left behind when it cannot be removed."""
    try:
        yield
    except BridgeError as e:
        _log.warning("left_behind", what=what, error=e.what)
