"""The whole path on this machine: a SQLite journal, a Kafka broker, and every command once.

``make quickstart`` runs it. The broker is a real one, started here and thrown away at the end.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from sqlalchemy import create_engine

from bridge.writer import Event, append
from tests.services import resolve_kafka

__all__ = ["main"]

_CONFIG = """\
app: shop
kafka:
  bootstrap_servers: {bootstrap_servers}
journals:
  orders:
    url: {url}
    layout: bridge
"""


def main() -> None:
    """Append events, relay them, verify, and show what is in the topic."""
    with tempfile.TemporaryDirectory() as name, resolve_kafka().start() as kafka:
        folder = Path(name)
        url = f"sqlite:///{folder}/shop.db"
        (folder / "shop.db").touch()
        (folder / "bridge.yaml").write_text(
            _CONFIG.format(bootstrap_servers=kafka.bootstrap_servers, url=url)
        )
        _bridge(folder, "init")
        _append_orders(url)
        _bridge(folder, "relay", "--until-caught-up")
        _bridge(folder, "status")
        _bridge(folder, "verify")
        _bridge(folder, "tail", "orders", "--from-beginning", "--limit", "3")


def _append_orders(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for n in range(1, 101):
            placed = Event(type="OrderPlaced", payload={"order": n}, tags=["orders"])
            paid = Event(type="OrderPaid", payload={"order": n}, tags=["orders", "billing"])
            append(connection, f"order-{n}", [placed, paid], expected_sequence_nr=0)
    engine.dispose()
    print("\n# 200 events appended with bridge.writer, in one transaction", flush=True)


def _bridge(folder: Path, *arguments: str) -> None:
    print(f"\n$ bridge {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "bridge", "--log-level", "warning", *arguments]
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
