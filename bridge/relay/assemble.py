"""Configuration → relay: every part wired, nothing started."""

import os
import secrets
import socket
import time

from bridge.config import Config
from bridge.core.batching import BatchLimits
from bridge.core.relay_machine import RelayMachine, RelaySettings
from bridge.envelope.records import OutboundRecord, RowEncoder, mark_late
from bridge.errors import SetupError
from bridge.journals.base import PageLimits
from bridge.journals.opening import open_journal
from bridge.kafka.brokers import Brokers, brokers_of
from bridge.kafka.from_config import SHARD, SHARDS, cursor_store, topic_names
from bridge.kafka.topics import CURSOR_TOPIC_CONFIG, KafkaTopics, cursor_topic_name
from bridge.relay.catalog import TopicCatalog
from bridge.relay.driver import RelayDriver
from bridge.relay.lanes import JournalLane, PublisherLane

__all__ = ["assemble_relay"]

BATCH_BYTES = 1_048_588
"""Kafka's default ``max.message.bytes``; smaller limits of topics are learned as they are used."""


def assemble_relay(
    config: Config, journal: str, *, until_caught_up: bool, brokers: Brokers | None = None
) -> RelayDriver:
    """Make the relay of one journal; the cursor topic is created if it is missing.

    Args:
        brokers: in place of the configured ones.
    """
    brokers = brokers or brokers_of(config)
    topics = brokers.topics
    cursor_topic = cursor_topic_name(config.app, journal)
    _ensure_cursor_topic(topics, cursor_topic)
    names = topic_names(config, journal)
    shard = f"{config.app}--{journal}--{SHARD}"
    catalog = TopicCatalog(topics, names, f"{config.app}--", config.topics.max_topics)
    limits = PageLimits(config.relay.batch_max_records, config.relay.batch_max_bytes)
    source = config.journals[journal].source.format(app=config.app, journal=journal)
    machine: RelayMachine[OutboundRecord] = RelayMachine(
        _settings(config, journal, until_caught_up), mark_late, BATCH_BYTES, _clock_ms()
    )
    publisher = brokers.publisher(brokers.settings, shard, cursor_topic, SHARD, shard.encode())
    return RelayDriver(
        machine,
        JournalLane(
            open_journal(config, journal, limits),
            RowEncoder(names, source, late=config.journals[journal].on_inversion == "late"),
            catalog,
            BATCH_BYTES,
            _wall_ms,
        ),
        PublisherLane(
            publisher,
            cursor_store(config, journal, brokers.settings),
            config.relay.transaction_max_ms,
            _clock_ms,
            _wall_ms,
        ),
        _clock_ms,
    )


def _ensure_cursor_topic(topics: KafkaTopics, name: str) -> None:
    """Create the cursor topic, or make sure that it keeps cursors.

    Raises:
        SetupError: it exists with settings under which cursors vanish or are misplaced.
    """
    found = topics.facts_and_settings([name]).get(name)
    if found is None:
        topics.create([name], SHARDS, CURSOR_TOPIC_CONFIG)
        return
    facts, settings = found
    policy = settings.get("cleanup.policy")
    if policy != "compact" or facts.partitions != SHARDS:
        raise SetupError(
            f"topic {name} has cleanup.policy={policy} and {facts.partitions} partitions, cursors "
            f"need `compact` and {SHARDS}",
            "set cleanup.policy=compact; if the partitions differ, it is not bridge's own topic",
        )


def _settings(config: Config, journal: str, until_caught_up: bool) -> RelaySettings:
    relay = config.relay
    return RelaySettings(
        app=config.app,
        journal=journal,
        owner=f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}",
        limits=BatchLimits(
            relay.batch_max_records, relay.batch_max_bytes, relay.transaction_max_partitions
        ),
        poll_interval_ms=relay.poll_interval_ms,
        on_inversion=config.journals[journal].on_inversion,
        until_caught_up=until_caught_up,
    )


def _clock_ms() -> float:
    return time.monotonic() * 1000


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
