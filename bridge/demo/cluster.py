"""The brokers of the demonstration: real ones, or librdkafka's built-in test cluster."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import structlog

from bridge.config import Config
from bridge.demo.readmodel import PROJECTION
from bridge.errors import BridgeError
from bridge.kafka.brokers import Brokers, brokers_of
from bridge.kafka.mock_cluster import MockCluster
from bridge.kafka.removal import remove

__all__ = ["Reach", "cleaning", "open_brokers", "tidied"]

Reach = Callable[[Config], Brokers]
"""Makes what reaches the brokers."""

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
            ours = [t for t in brokers.topics.existing() if t.startswith((f"{run}.", f"{run}--"))]
            remove(brokers.settings, ours, [f"{run}--projection--{PROJECTION}"])


@contextmanager
def cleaning(what: str) -> Iterator[None]:
    """Say what is left behind when it cannot be removed."""
    try:
        yield
    except BridgeError as e:
        _log.warning("left_behind", what=what, error=e.what)
