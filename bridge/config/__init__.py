"""Configuration: one YAML file, environment overrides, everything checked before use."""

from bridge.config.load import load_config
from bridge.config.models import Config, Journal, Kafka, Relay, Topics
from bridge.config.show import ShownValue, as_text, shown_values

__all__ = [
    "Config",
    "Journal",
    "Kafka",
    "Relay",
    "ShownValue",
    "Topics",
    "as_text",
    "load_config",
    "shown_values",
]
