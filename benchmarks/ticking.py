"""A writer at a steady rate, as a process of its own so that it shares nothing with the consumer.

``python -m benchmarks.ticking URL RATE SECONDS`` prints as JSON when each commit was acknowledged.
"""

import json
import sys
import time

import psycopg

__all__: list[str] = []

_TICK_S = 0.01
_INSERT = (
    "INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags, "
    "timestamp_ms) VALUES (%s, %s, 'Ticked', %s, ARRAY['orders'], 1700000000000)"
)


def _write(url: str, rate: int, seconds: float) -> dict[str, float]:
    """Persistence id → monotonic clock, which all processes of a machine share."""
    per_tick = max(1, round(rate * _TICK_S))
    committed: dict[str, float] = {}
    with psycopg.connect(url) as conn:
        start = time.monotonic()
        for tick in range(round(seconds / _TICK_S)):
            time.sleep(max(0.0, start + tick * _TICK_S - time.monotonic()))
            keys = [f"tick-{tick}-{i}" for i in range(per_tick)]
            with conn.cursor() as cursor:
                cursor.executemany(_INSERT, [(key, 1, b"{}") for key in keys])
            conn.commit()
            committed.update(dict.fromkeys(keys, time.monotonic()))
    return committed


if __name__ == "__main__":
    print(json.dumps(_write(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
