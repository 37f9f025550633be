"""``python -m benchmarks``: drain rate beside a bare producer, latency, peak memory."""

import argparse
import tempfile
from pathlib import Path

from benchmarks.drain import measure_bare, measure_relay
from benchmarks.latency import measure_latency
from benchmarks.setting import Setting, open_setting

__all__: list[str] = []


def main() -> None:
    """Run all measurements and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="backlog to drain")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of relay and bare producer")
    parser.add_argument("--seconds", type=int, default=30, help="length of the latency run")
    parser.add_argument("--rate", type=int, default=1_000, help="rows/s of the latency run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_setting(Path(folder)) as setting:
        _drain(setting, options.rows, options.rounds)
        _latency(setting, options.rate, options.seconds)


def _drain(setting: Setting, rows: int, rounds: int) -> None:
    print(f"backlog of {rows:,} rows, 5,000 records a transaction, best of {rounds} rounds")
    setting.fill(rows)
    pairs = [(measure_bare(setting, rows), measure_relay(setting, rows)) for _ in range(rounds)]
    bare = max((pair[0] for pair in pairs), key=lambda m: m.rate)
    relay = max((pair[1] for pair in pairs), key=lambda m: m.rate)
    print(f"  {'':14}{'rows/s':>12}{'ratio':>8}{'peak MB':>10}")
    print(f"  {'bare producer':14}{bare.rate:>12,.0f}{1:>8.2f}{bare.peak_mb:>10.0f}")
    print(f"  {'relay':14}{relay.rate:>12,.0f}{relay.rate / bare.rate:>8.2f}{relay.peak_mb:>10.0f}")


def _latency(setting: Setting, rate: int, seconds: int) -> None:
    found = measure_latency(setting, rate, seconds)
    print(f"latency, commit to read_committed consumer, {rate:,} rows/s for {seconds} s")
    print("  " + "  ".join(f"{name} {value:.1f} ms" for name, value in found.items()))


if __name__ == "__main__":
    main()
