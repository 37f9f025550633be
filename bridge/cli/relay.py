"""``bridge relay``."""

import click

from bridge.cli.options import journal_option
from bridge.cli.state import State, pass_state
from bridge.cli.stopping import StopRequest

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
    stop = StopRequest()
    stop.listen()
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
