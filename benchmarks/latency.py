"""Commit to consumer: how long an event takes while rows trickle in."""

import json
import subprocess
import sys
import time

import psycopg
from confluent_kafka import Consumer, TopicPartition

from benchmarks.setting import JOURNAL, TAG, Setting
from bridge.config import Config, load_config
from bridge.kafka.from_config import kafka_topics, topic_names

__all__ = ["measure_latency"]

_WARM_UP_S = 20
"""Not measured: the broker compiles its code while small transactions arrive."""


def measure_latency(setting: Setting, rate: int, seconds: int) -> dict[str, float]:
    """Percentiles in ms, from the acknowledged commit to the consumer's poll."""
    with psycopg.connect(setting.url, autocommit=True) as conn:
        conn.execute("TRUNCATE bridge_events")
    path = setting.write_config()
    config = load_config(path, {})
    topic = topic_names(config, JOURNAL).of_tag(TAG) or TAG
    kafka_topics(config).ensure([topic])
    relay = _start("bridge", "-c", str(path), "relay")
    try:
        writer = _start("benchmarks.ticking", setting.url, str(rate), str(_WARM_UP_S + seconds))
        seen = _consume(config, topic, rate * (_WARM_UP_S + seconds))
        committed: dict[str, float] = json.loads(writer.communicate()[0])
    finally:
        relay.terminate()
        relay.wait()
    measured = list(committed)[rate * _WARM_UP_S :]
    delays = sorted(1000 * (seen[key] - committed[key]) for key in measured)
    return {
        "p50": delays[len(delays) // 2],
        "p99": delays[int(len(delays) * 0.99)],
        "max": delays[-1],
    }


def _start(*module: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-m", *module], stdout=subprocess.PIPE, text=True)


def _consume(config: Config, topic: str, rows: int) -> dict[str, float]:
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
    while len(seen) < rows:
        for message in consumer.consume(500, timeout=0.005):
            key = message.key()
            if isinstance(key, bytes):
                seen.setdefault(key.decode(), time.monotonic())
    consumer.close()
    return seen
