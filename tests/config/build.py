"""Configurations for tests: a sound one, and one with a single thing changed."""

from collections.abc import Mapping
from pathlib import Path

from bridge.config import Config, load_config

__all__ = ["SOUND", "load_text"]

SOUND = """\
app: shop
kafka:
  bootstrap_servers: localhost:9092
journals:
  orders:
    url: postgresql://bridge@localhost/shop
    layout: actor-ts
"""


def load_text(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Config:
    """Load `text` as the file bridge.yaml, with no environment but `environ`."""
    path = folder / "bridge.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, environ or {})
