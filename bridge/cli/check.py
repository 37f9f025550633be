"""``bridge check``."""

import json
import time
from itertools import chain

import click

from bridge.cli.options import journals_option, json_option
from bridge.cli.state import State, pass_state

__all__ = ["check"]


@click.command()
@click.option("--connect", is_flag=True, help="Ask the brokers and the databases, too.")
@journals_option
@json_option
@pass_state
def check(state: State, connect: bool, journal: str | None, as_json: bool) -> None:
    """Say whether the relay can run; writes nothing.

    Ends with 3 when something is wrong, 4 when a server cannot be reached.
    """
    from bridge.status.checked import checks_json, checks_text, exit_code  # noqa: PLC0415 - slow
    from bridge.status.configuration_checks import check_configuration  # noqa: PLC0415
    from bridge.status.connected_checks import check_servers  # noqa: PLC0415

    names = state.journals(journal)
    now_ms = time.time_ns() // 1_000_000
    servers = check_servers(state.config, names, now_ms) if connect else ()
    found = []
    for one in chain(check_configuration(state.config, names), servers):
        found.append(one)
        if not as_json:
            click.echo(checks_text(one))
    if as_json:
        click.echo(json.dumps({"checks": checks_json(found)}, indent=2))
    raise click.exceptions.Exit(exit_code(found))
