"""``bridge project``."""

import asyncio
from typing import TYPE_CHECKING

import click

from bridge.cli.state import State, pass_state
from bridge.cli.stopping import StopRequest

if TYPE_CHECKING:
    from bridge.config import Config
    from bridge.projections import Projection

__all__ = ["project"]


@click.command()
@click.argument("target", metavar="MODULE:NAME")
@click.option(
    "--until-caught-up",
    is_flag=True,
    help="End with 0 once everything committed when the projection started is applied.",
)
@pass_state
def project(state: State, target: str, *, until_caught_up: bool) -> None:
    """Run the projection NAME of MODULE until stopped by SIGTERM or SIGINT."""
    stop = StopRequest()
    stop.listen()
    from bridge.projections.loading import load_projection  # noqa: PLC0415 - slow

    config = state.config
    projection = load_projection(target)
    asyncio.run(_run(projection, config, stop, until_caught_up=until_caught_up))


async def _run(
    projection: "Projection", config: "Config", stop: StopRequest, *, until_caught_up: bool
) -> None:
    loop = asyncio.get_running_loop()
    async with projection.running(config) as running:

        def end() -> None:
            loop.call_soon_threadsafe(running.stop)  # wakes the loop, also from a signal handler

        stop.pass_to(end)
        if until_caught_up:
            await running.until_caught_up()
        else:
            await running.ended()
