"""How fast a backlog goes out: the relay, and a producer that has nothing else to do.

Each drain is a process of its own (``python -m benchmarks.drain``), so that its memory is its own.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from benchmarks.setting import JOURNAL, TAG, Setting
from bridge.config import Config, load_config
from bridge.core.rows import JournalRow
from bridge.envelope.records import OutboundRecord, RowEncoder
from bridge.kafka.from_config import kafka_settings, kafka_topics, topic_names
from bridge.logs import configure_logging
from bridge.relay.assemble import BATCH_BYTES, assemble_relay
from bridge.relay.process import tune_collector

__all__ = ["Measured", "measure_bare", "measure_relay"]

_TRANSACTION = 5_000


@dataclass(frozen=True)
class Measured:
    """One drain.

    Attributes:
        rate: rows per second, from connecting to the last commit.
        peak_mb: largest resident size of the process.
    """

    rate: float
    peak_mb: float


def measure_relay(setting: Setting, rows: int) -> Measured:
    """Drain the journal through the relay."""
    return _in_child("relay", setting, rows)


def measure_bare(setting: Setting, rows: int) -> Measured:
    """Produce as many records of the same shape, made beforehand, in equal transactions."""
    return _in_child("bare", setting, rows)


def _in_child(work: str, setting: Setting, rows: int) -> Measured:
    config = str(setting.write_config())
    command = [sys.executable, "-m", "benchmarks.drain", work, config, str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return Measured(rows / found["seconds"], found["peak_mb"])


def _relay(config: Config, _rows: int) -> float:
    driver = assemble_relay(config, JOURNAL, until_caught_up=True)
    tune_collector()
    began = time.perf_counter()
    driver.run()
    return time.perf_counter() - began


def _bare(config: Config, rows: int) -> float:
    records = _records(config)
    settings = kafka_settings(config).producer(f"{config.app}-bare", BATCH_BYTES)
    began = time.perf_counter()
    producer = Producer(settings)
    producer.init_transactions()
    for _ in range(-(-rows // _TRANSACTION)):
        producer.begin_transaction()
        for record in records:
            _produce(producer, record)
        producer.flush()
        producer.commit_transaction()
    return time.perf_counter() - began


def _produce(producer: Producer, record: OutboundRecord) -> None:
    topic, partition, key, value, timestamp_ms, headers = record
    made: Any = headers
    while True:
        try:
            producer.produce(topic, value, key, partition, timestamp=timestamp_ms, headers=made)
            return
        except BufferError:
            producer.poll(0.05)


def _records(config: Config) -> list[OutboundRecord]:
    """One transaction's records, like those of the journal that `Setting.fill` makes."""
    names = topic_names(config, JOURNAL)
    topic = names.of_tag(TAG)
    facts = kafka_topics(config).ensure([topic or TAG])
    payload = json.dumps({"order": 250_000, "customer": "0" * 32, "note": "x" * 120}).encode()
    rows = [
        JournalRow(
            f"order-{n}", n, payload, (TAG,), 1_700_000_000_000 + n, "OrderPlaced",
            "application/json", (), (n,),
        )
        for n in range(1, _TRANSACTION + 1)
    ]  # fmt: skip
    encoded = RowEncoder(names, f"/{config.app}/{JOURNAL}").encode(rows, facts, 1_800_000_000_000)
    return [record for row in encoded for record in row.records]


def _main() -> None:
    work, path, rows = sys.argv[1:]
    configure_logging("warning")
    config = load_config(Path(path), {})
    seconds = {"relay": _relay, "bare": _bare}[work](config, int(rows))
    print(json.dumps({"seconds": seconds, "peak_mb": _peak_mb()}))


def _peak_mb() -> float:
    """Largest resident size so far; `getrusage` would count what this process was forked from."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    _main()
