"""``bridge status``."""

import json
import time

import click

from bridge.cli.options import journals_option, json_option
from bridge.cli.state import State, pass_state

__all__ = ["status"]


@click.command()
@journals_option
@json_option
@pass_state
def status(state: State, journal: str | None, as_json: bool) -> None:
    """Show how far the relays are, measured against the journals; no relay needs to run.

    Ends with 6 when a human must decide, 4 when a server cannot be reached.
    """
    from bridge.status.journal_status import collect_status  # noqa: PLC0415 - slow
    from bridge.status.status_view import status_json, status_text  # noqa: PLC0415 - slow

    found = [collect_status(state.config, name) for name in state.journals(journal)]
    now_ms = time.time_ns() // 1_000_000
    if as_json:
        shown = [status_json(one, now_ms) for one in found]
        click.echo(json.dumps({"app": state.config.app, "journals": shown}, indent=2))
    else:
        click.echo("\n\n".join(status_text(one, now_ms) for one in found))
    raise click.exceptions.Exit(max(one.exit_code for one in found))
