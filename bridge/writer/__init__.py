"""Append events to a journal of layout `bridge` inside the application's own transaction."""

from bridge.writer.appending import AsyncTarget, SyncTarget, append, append_async
from bridge.writer.errors import InvalidEventError, SequenceConflictError
from bridge.writer.events import Event

__all__ = [
    "AsyncTarget",
    "Event",
    "InvalidEventError",
    "SequenceConflictError",
    "SyncTarget",
    "append",
    "append_async",
]
