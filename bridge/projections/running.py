"""A projection that runs as a task beside other code."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

__all__ = ["Runnable", "Running", "run_beside"]

_LAST_BATCH_S = 15.0
"""How long the end waits for the batch in flight; after that it is broken off, and rolls back."""


class Runnable(Protocol):
    """What can be run beside other code."""

    async def run(self) -> None:
        """Work until asked to stop."""

    def stop(self) -> None:
        """Ask for a clean end."""

    async def caught_up(self) -> bool:
        """True once everything is applied that was committed when this was called.

        False when the work ends before.
        """


class Running:
    """A projection at work."""

    def __init__(self, worker: Runnable, task: "asyncio.Task[None]") -> None:
        self._worker = worker
        self._task = task

    def stop(self) -> None:
        """Ask for a clean end."""
        self._worker.stop()

    async def ended(self) -> None:
        """Return when it has come to its end, after `stop`; raises why it cannot go on."""
        await asyncio.shield(self._task)

    async def until_caught_up(self) -> None:
        """Return once everything is applied that was committed when this was called.

        Returns as well when the projection is stopped meanwhile; raises why it cannot go on.
        """
        waiting = asyncio.create_task(self._worker.caught_up())
        try:
            await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done() or not waiting.result():
                await self.ended()
        finally:
            waiting.cancel()
            await asyncio.wait({waiting})


@asynccontextmanager
async def run_beside(worker: Runnable) -> AsyncIterator[Running]:
    """Run a worker as a task; its failure cancels the block and is raised in its place."""
    block = asyncio.current_task()
    if block is None:
        raise RuntimeError("a projection runs inside a task")
    task = asyncio.create_task(worker.run(), name="bridge-projection")
    inside, interrupted = True, False

    def interrupt(ended: "asyncio.Task[None]") -> None:
        nonlocal interrupted
        if inside and not ended.cancelled() and ended.exception() is not None:
            interrupted = True
            block.cancel()

    task.add_done_callback(interrupt)
    try:
        yield Running(worker, task)
        # A failure in the very moment in which the block ends is delivered here.
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if not interrupted or block.uncancel() > 0:
            raise
    finally:
        inside = False
        worker.stop()
        _, unfinished = await asyncio.wait({task}, timeout=_LAST_BATCH_S)
        if unfinished:
            task.cancel()
            await asyncio.wait({task})
    if not task.cancelled():
        task.result()
