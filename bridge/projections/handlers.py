"""Calling a handler, whatever kind of function it is."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bridge.envelope.inbound import Event
from bridge.projections.projection import Projection

__all__ = ["Call", "caller", "cause_of"]

Call = Callable[[Event, Any], Awaitable[object]]
"""Applies an event in a transaction, which is None for ``at_least_once``."""


def caller(projection: Projection) -> Call:
    """The projection's handler as a coroutine function of event and transaction."""
    handler, store = projection.handler, projection.store
    is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - an object may have an async __call__
    )
    if projection.delivery == "exactly_once":
        if is_async:
            return handler
        return lambda event, tx: store.call_plain(tx, lambda plain: handler(event, plain))
    if is_async:
        return lambda event, _: handler(event)
    # On a thread: a handler that waits must not keep the consumer from its group's heartbeats.
    return lambda event, _: asyncio.to_thread(handler, event)


def cause_of(error: BaseException) -> str:
    """Type and place of an error. Its text is left out: it may quote the payload."""
    trace = error.__traceback__
    if trace is None:
        return type(error).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = Path(trace.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"
