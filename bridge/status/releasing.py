"""Asking the relay to release what is parked, and waiting for its answer."""

import getpass
import os
import secrets
import socket
import time
from collections.abc import Iterable, Mapping

from bridge.config import Config
from bridge.core.parking import ParkedEntity, ReleaseRequest
from bridge.errors import ConfigError
from bridge.kafka.from_config import SHARD, kafka_settings, kafka_topics, parked_store, read_parked
from bridge.kafka.parked import ask_for_release
from bridge.kafka.topics import parked_topic_name

__all__ = ["Answers", "Asked", "find_parked", "release"]

_PAUSE_S = 0.25

Asked = Mapping[str, int | None]
"""Persistence id → number of the event to be discarded first; None: none."""

Answers = Mapping[str, str | None]
"""Persistence id → why it is still parked; None: it is released."""


def find_parked(config: Config, journal: str, persistence_id: str) -> ParkedEntity:
    """The parked entity of this id.

    Raises:
        ConfigError: nothing of it waits.
    """
    ledger = read_parked(config, journal, kafka_topics(config))
    entity = ledger.entities.get(persistence_id)
    if entity is None:
        raise ConfigError(
            f"journal {journal}: nothing of {persistence_id!r} is parked", "see `bridge dlq list`"
        )
    return entity


def release(config: Config, journal: str, asked: Asked, note: str, wait_s: float) -> Answers:
    """Ask for the release of entities, and wait for the relay's answers.

    Raises:
        BridgeError: the brokers cannot be reached.
    """
    topic = parked_topic_name(config.app, journal)
    requests = {pid: _request(pid, discard, note) for pid, discard in asked.items()}
    ask_for_release(kafka_settings(config), topic, SHARD, list(requests.values()))
    store = parked_store(config, journal)
    deadline = time.monotonic() + wait_s
    while True:
        ledger = store.follow()
        waiting = _unanswered(requests.values(), ledger.requests)
        if not waiting or time.monotonic() >= deadline:
            break
        time.sleep(_PAUSE_S)
    late = "no relay has answered yet: the request stays, the next relay that runs performs it"
    return {pid: late if pid in waiting else _reason(ledger.entities.get(pid)) for pid in requests}


def _unanswered(
    requests: Iterable[ReleaseRequest], open_: Mapping[str, ReleaseRequest]
) -> set[str]:
    return {
        request.persistence_id
        for request in requests
        if (found := open_.get(request.persistence_id)) is not None
        and found.request_id == request.request_id
    }


def _reason(entity: ParkedEntity | None) -> str | None:
    return None if entity is None else entity.reason


def _request(persistence_id: str, discard: int | None, note: str) -> ReleaseRequest:
    return ReleaseRequest(
        persistence_id=persistence_id,
        request_id=secrets.token_hex(8),
        discard=discard,
        by=f"{_user()}@{socket.gethostname()}",
        note=note,
        requested_at_ms=time.time_ns() // 1_000_000,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as containers have it
        return f"uid {os.getuid()}"
