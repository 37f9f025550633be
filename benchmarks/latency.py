"""Commit to consumer: how long an event takes while rows trickle in."""

import subprocess
import sys
import threading
import time

import psycopg
from confluent_kafka import Consumer, TopicPartition

from benchmarks.setting import JOURNAL, TAG, Setting
from bridge.config import Config, load_config
from bridge.kafka.from_config import kafka_topics, topic_names

__all__ = ["measure_latency"]

_TICK_S = 0.01
_INSERT = (
    "INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags, "
    "timestamp_ms) VALUES (%s, %s, 'Ticked', %s, ARRAY['orders'], 1700000000000)"
)
_WARM_UP_S = 3.0


class _Writer(threading.Thread):
    """Commits rows at a steady rate; remembers when each commit was acknowledged."""

    def __init__(self, url: str, rate: int, seconds: float) -> None:
        super().__init__(name="writer")
        self._url = url
        self._per_tick = max(1, round(rate * _TICK_S))
        self._ticks = round(seconds / _TICK_S)
        self.committed: dict[str, float] = {}

    def run(self) -> None:
        with psycopg.connect(self._url) as conn:
            start = time.perf_counter()
            for tick in range(self._ticks):
                time.sleep(max(0.0, start + tick * _TICK_S - time.perf_counter()))
                keys = [f"tick-{tick}-{i}" for i in range(self._per_tick)]
                with conn.cursor() as cursor:
                    cursor.executemany(_INSERT, [(key, 1, b"{}") for key in keys])
                conn.commit()
                self.committed.update(dict.fromkeys(keys, time.perf_counter()))


def measure_latency(setting: Setting, rate: int, seconds: int) -> dict[str, float]:
    """Percentiles in ms, from the acknowledged commit to the consumer's poll."""
    with psycopg.connect(setting.url, autocommit=True) as conn:
        conn.execute("TRUNCATE bridge_events")
    path = setting.write_config()
    config = load_config(path, {})
    topic = topic_names(config, JOURNAL).of_tag(TAG) or TAG
    kafka_topics(config).ensure([topic])
    relay = subprocess.Popen([sys.executable, "-m", "bridge", "-c", path, "relay"])
    try:
        writer = _Writer(setting.url, rate, _WARM_UP_S + seconds)
        writer.start()
        seen = _consume(config, topic, writer)
    finally:
        relay.terminate()
        relay.wait()
    measured = list(writer.committed)[int(rate * _WARM_UP_S) :]
    delays = sorted(1000 * (seen[key] - writer.committed[key]) for key in measured)
    return {
        "p50": delays[len(delays) // 2],
        "p99": delays[int(len(delays) * 0.99)],
        "max": delays[-1],
    }


def _consume(config: Config, topic: str, writer: _Writer) -> dict[str, float]:
    consumer = Consumer(
        {
            "bootstrap.servers": config.kafka.bootstrap_servers,
            "group.id": "latency",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 500,
            "fetch.queue.backoff.ms": 0,
        }
    )
    partitions = range(config.topics.partitions)
    consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
    seen: dict[str, float] = {}
    while writer.is_alive() or len(seen) < len(writer.committed):
        for message in consumer.consume(500, timeout=0.005):
            key = message.key()
            if isinstance(key, bytes):
                seen.setdefault(key.decode(), time.perf_counter())
    consumer.close()
    return seen
