"""Read models built from tag topics: a handler is given each event once, in order."""

from bridge.envelope.inbound import Event
from bridge.projections.projection import Projection
from bridge.projections.running import Running
from bridge.readmodels.memory import MemoryStore
from bridge.readmodels.sql import SqlStore

__all__ = ["Event", "MemoryStore", "Projection", "Running", "SqlStore"]
