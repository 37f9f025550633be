"""``bridge relay``."""

import signal
from collections.abc import Callable
from types import FrameType

import click

from bridge.cli.options import journal_option
from bridge.cli.state import State, pass_state

__all__ = ["relay"]


@click.command()
@journal_option
@click.option(
    "--until-caught-up",
    is_flag=True,
    help="End with 0 once everything committed when the relay started is published.",
)
@pass_state
def relay(state: State, journal: str | None, until_caught_up: bool) -> None:
    """Publish a journal's events until stopped by SIGTERM or SIGINT."""
    stop = _Stop()
    for number in (signal.SIGTERM, signal.SIGINT):  # before anything that takes time
        signal.signal(number, stop)
    from bridge.kafka.from_config import kafka_topics  # noqa: PLC0415 - slow
    from bridge.relay.assemble import assemble_relay  # noqa: PLC0415 - slow
    from bridge.relay.process import tune_collector  # noqa: PLC0415

    name = state.journal(journal)
    driver = assemble_relay(state.config, name, until_caught_up=until_caught_up)
    stop.pass_to(driver.stop)
    tune_collector()
    driver.run()
    if until_caught_up:
        kafka_topics(state.config).await_visible(driver.topics)


class _Stop:
    """The request to end, which may come before there is anything to be ended."""

    def __init__(self) -> None:
        self._asked = False
        self._then: Callable[[], None] | None = None

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self._asked = True
        if self._then is not None:
            self._then()

    def pass_to(self, then: Callable[[], None]) -> None:
        """Call `then` at the request, or now if it was made already."""
        self._then = then
        if self._asked:
            then()
