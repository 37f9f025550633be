"""Servers and a journal for the measurements."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bridge.config import load_config
from bridge.journals.opening import open_installer
from tests.services import resolve_kafka, resolve_postgres

__all__ = ["JOURNAL", "TAG", "Setting", "open_setting"]

JOURNAL = "orders"
TAG = "orders"

_FILL = """
INSERT INTO bridge_events (persistence_id, sequence_nr, event_type, payload, tags, timestamp_ms)
SELECT 'order-' || n %% 20000, n / 20000 + 1, 'OrderPlaced',
       convert_to(json_build_object('order', n, 'customer', md5(n::text), 'note', repeat('x', 120))
                  ::text, 'UTF8'),
       ARRAY['orders'], 1700000000000 + n
FROM generate_series(0, %s) AS n
"""


@dataclass(frozen=True)
class Setting:
    """A journal in PostgreSQL and a broker.

    Attributes:
        folder: for configuration files.
    """

    folder: Path
    url: str
    bootstrap_servers: str

    def write_config(self) -> Path:
        """A configuration file with an app of its own: nothing published yet."""
        path = self.folder / f"{uuid.uuid4().hex[:8]}.yaml"
        path.write_text(
            f"app: bench-{path.stem}\n"
            f"kafka: {{bootstrap_servers: '{self.bootstrap_servers}'}}\n"
            f"journals: {{{JOURNAL}: {{url: '{self.url}', layout: bridge}}}}\n"
        )
        return path

    def fill(self, rows: int) -> None:
        """Put exactly `rows` events into the journal."""
        open_installer(load_config(self.write_config(), {}), JOURNAL).install(None)
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute("TRUNCATE bridge_events")
            conn.execute(_FILL, (rows - 1,))
            conn.execute("VACUUM ANALYZE bridge_events")


@contextmanager
def open_setting(folder: Path) -> Iterator[Setting]:
    """Start PostgreSQL and Kafka for the length of the block."""
    with resolve_postgres().start() as postgres, resolve_kafka().start() as kafka:
        yield Setting(folder, postgres.create_database("bench"), kafka.bootstrap_servers)
