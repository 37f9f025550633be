"""Relay between event-sourcing journals and Kafka: each committed row once, in commit order."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("journal-bridge")
