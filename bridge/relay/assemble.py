"""Configuration → relay: every part wired, nothing started."""

import os
import secrets
import socket
import time

from bridge.config import Config
from bridge.core.batching import BatchLimits
from bridge.core.relay_machine import RelayMachine, RelaySettings
from bridge.envelope.parking import ParkingRecords
from bridge.envelope.records import OutboundRecord, RowEncoder
from bridge.journals.base import PageLimits
from bridge.journals.opening import open_journal
from bridge.kafka.brokers import Brokers, brokers_of
from bridge.kafka.from_config import SHARD, cursor_store, parked_store, topic_names
from bridge.kafka.topics import cursor_topic_name
from bridge.relay.catalog import TopicCatalog
from bridge.relay.driver import RelayDriver
from bridge.relay.internal_topics import ensure_internal_topics
from bridge.relay.lanes import JournalLane, PublisherLane

__all__ = ["assemble_relay"]

BATCH_BYTES = 1_048_588
"""Kafka's default ``max.message.bytes``; smaller limits of topics are learned as they are used."""


def assemble_relay(
    config: Config, journal: str, *, until_caught_up: bool, brokers: Brokers | None = None
) -> RelayDriver:
    """Make the relay of one journal; its internal topics are created if they are missing.

    Args:
        brokers: in place of the configured ones.
    """
    brokers = brokers or brokers_of(config)
    topics = brokers.topics
    cursor_topic = cursor_topic_name(config.app, journal)
    dead_letters, parked = ensure_internal_topics(topics, config.app, journal)
    names = topic_names(config, journal)
    shard = f"{config.app}--{journal}--{SHARD}"
    catalog = TopicCatalog(topics, names, f"{config.app}--", config.topics.max_topics)
    limits = PageLimits(config.relay.batch_max_records, config.relay.batch_max_bytes)
    source = config.journals[journal].source.format(app=config.app, journal=journal)
    parking = ParkingRecords(source, dead_letters, parked, SHARD)
    batch_bytes = min(BATCH_BYTES, parking.batch_bytes)
    machine: RelayMachine[OutboundRecord] = RelayMachine(
        _settings(config, journal, until_caught_up), parking, batch_bytes, _clock_ms()
    )
    publisher = brokers.publisher(brokers.settings, shard, cursor_topic, SHARD, shard.encode())
    return RelayDriver(
        machine,
        JournalLane(
            open_journal(config, journal, limits),
            RowEncoder(names, source, late=config.journals[journal].on_inversion == "late"),
            catalog,
            parking,
            parked_store(config, journal, brokers.settings),
            BATCH_BYTES,
            _wall_ms,
        ),
        PublisherLane(
            publisher,
            cursor_store(config, journal, brokers.settings),
            parked_store(config, journal, brokers.settings),
            config.relay.transaction_max_ms,
            _clock_ms,
            _wall_ms,
        ),
        _clock_ms,
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
        on_poison=relay.on_poison,
        until_caught_up=until_caught_up,
    )


def _clock_ms() -> float:
    return time.monotonic() * 1000


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
