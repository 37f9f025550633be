"""A projection beside a block of code: whichever ends first, nothing is left behind."""

import asyncio
from collections.abc import Callable

import pytest

from bridge.errors import ConfigError, OperatorError
from bridge.projections import Event, MemoryStore, Projection
from bridge.projections.running import run_beside


class FakeWorker:
    """Fails when it is told to; `finished` when it has come to a clean end."""

    def __init__(self) -> None:
        self.fail = asyncio.Event()
        self._stop = asyncio.Event()
        self.finished = False

    async def run(self) -> None:
        waits = [asyncio.create_task(e.wait()) for e in (self.fail, self._stop)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self.fail.is_set():
            raise OperatorError("it cannot go on")
        self.finished = True

    def stop(self) -> None:
        self._stop.set()

    async def caught_up(self) -> None:
        await asyncio.Event().wait()


def test_the_end_of_the_block_is_the_end_of_the_projection() -> None:
    async def play() -> FakeWorker:
        worker = FakeWorker()
        async with run_beside(worker):
            await asyncio.sleep(0)
        return worker

    assert asyncio.run(play()).finished


def test_a_failure_takes_the_place_of_the_block() -> None:
    async def play() -> None:
        worker = FakeWorker()
        async with run_beside(worker):
            worker.fail.set()
            await asyncio.Event().wait()

    with pytest.raises(OperatorError, match="cannot go on"):
        asyncio.run(asyncio.wait_for(play(), 10))


def test_waiting_for_it_tells_why_it_failed() -> None:
    async def play() -> None:
        worker = FakeWorker()
        async with run_beside(worker) as running:
            worker.fail.set()
            await running.until_caught_up()

    with pytest.raises(OperatorError, match="cannot go on"):
        asyncio.run(asyncio.wait_for(play(), 10))


def test_a_stop_ends_the_waiting() -> None:
    async def play() -> None:
        async with run_beside(FakeWorker()) as running:
            running.stop()
            await running.until_caught_up()
            await running.ended()

    asyncio.run(asyncio.wait_for(play(), 10))


def test_an_error_of_the_block_is_raised_and_the_projection_ends() -> None:
    worker: FakeWorker | None = None

    async def play() -> None:
        nonlocal worker
        worker = FakeWorker()
        async with run_beside(worker):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(play(), 10))
    assert worker is not None
    assert worker.finished


def test_a_cancelled_block_stays_cancelled() -> None:
    async def play() -> None:
        async def block() -> None:
            async with run_beside(FakeWorker()):
                await asyncio.Event().wait()

        task = asyncio.create_task(block())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(play(), 10))


def _two(event: Event, tx: object) -> None: ...


def _one(event: Event) -> None: ...


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"name": "Order Totals"}, "not a legal name"),
        ({"tags": "orders"}, "no list of tags"),
        ({"tags": []}, "no list of tags"),
        ({"delivery": "at_most_once"}, "unknown delivery"),
        ({"start": "latest"}, "unknown start"),
        ({"attempts": 0}, "1 or more"),
        ({"handler": _one}, "does not fit delivery=exactly_once"),
        ({"delivery": "at_least_once"}, "does not fit delivery=at_least_once"),
    ],
)
def test_what_makes_no_projection_is_refused(options: dict[str, object], what: str) -> None:
    make: Callable[..., Projection] = Projection
    given = {"name": "totals", "tags": ["orders"], "handler": _two, "store": MemoryStore()}
    with pytest.raises(ConfigError, match=what):
        make(**{**given, **options})
