"""bridge: its relay and a projection, run as they always are, beside the writers."""

import asyncio
from contextlib import suppress

from bridge.config import Config
from bridge.demo.background import Background
from bridge.demo.readmodel import ReadModel
from bridge.kafka.brokers import Brokers
from bridge.projections import Projection, Running
from bridge.relay.assemble import assemble_relay

__all__ = ["BridgeWay"]

_CATCH_UP_S = 20.0
"""What is not applied by then counts as lost."""


class BridgeWay:
    """Journal → relay → topic → projection → read model, until it is told to end."""

    def __init__(
        self, config: Config, journal: str, brokers: Brokers, read_model: ReadModel
    ) -> None:
        self._driver = assemble_relay(config, journal, until_caught_up=False, brokers=brokers)
        self._worker = _ProjectionThread(read_model.projection(), config, brokers)
        self._relay = Background("relay", self._driver.run)

    def check(self) -> None:
        """Raise what keeps the relay or the projection from going on."""
        self._relay.check()
        self._worker.thread.check()

    def finish(self) -> None:
        """End the relay, then the projection once it has applied all that was published."""
        self._driver.stop()
        self._relay.join()
        self._worker.catch_up()
        self.check()

    def stop(self) -> None:
        """End both, wherever they are."""
        self._driver.stop()
        self._worker.stop()
        self._relay.join()


class _ProjectionThread:
    """A projection with an event loop of its own."""

    def __init__(self, projection: Projection, config: Config, brokers: Brokers) -> None:
        self._projection = projection
        self._config = config
        self._brokers = brokers
        self._loop = asyncio.new_event_loop()
        self._catch_up = asyncio.Event()
        self._stop = asyncio.Event()
        self.thread = Background("projection", self._run)

    def catch_up(self) -> None:
        """Let it apply what is in the topics, for some time, and end."""
        self._ask(self._catch_up)
        self.thread.join(_CATCH_UP_S)
        self.stop()

    def stop(self) -> None:
        """Let it end, and wait until it has."""
        self._ask(self._stop)
        self.thread.join()

    def _ask(self, event: asyncio.Event) -> None:
        with suppress(RuntimeError):  # it has ended, and its loop is closed
            self._loop.call_soon_threadsafe(event.set)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        async with self._projection.running(self._config, self._brokers) as running:
            ends = [
                asyncio.create_task(self._stop.wait()),
                asyncio.create_task(self._applied_all(running)),
            ]
            try:
                done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in ends:
                    task.cancel()
            for task in done:
                task.result()

    async def _applied_all(self, running: Running) -> bool:
        await self._catch_up.wait()
        await running.until_caught_up()
        return True
