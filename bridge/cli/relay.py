"""``bridge relay``."""

import signal
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
    from bridge.relay.assemble import assemble_relay  # noqa: PLC0415 - slow
    from bridge.relay.process import tune_collector  # noqa: PLC0415

    driver = assemble_relay(state.config, state.journal(journal), until_caught_up=until_caught_up)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        driver.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    tune_collector()
    driver.run()
