"""``bridge cursors``: look at what the relays have committed."""

import json

import click

from bridge.cli.options import journals_option, json_option
from bridge.cli.state import State, pass_state

__all__ = ["cursors"]


@click.group()
def cursors() -> None:
    """Look at the cursors that the relays have committed."""


@cursors.command()
@journals_option
@json_option
@pass_state
def show(state: State, journal: str | None, as_json: bool) -> None:
    """Print the last committed cursor of each journal."""
    from bridge.status.cursors import cursor_json, cursor_lines, read_cursors  # noqa: PLC0415
    from bridge.status.text import printable  # noqa: PLC0415 - slow, like the line above

    found = read_cursors(state.config, state.journals(journal))
    if as_json:
        shown = {name: one and cursor_json(one) for name, one in found.items()}
        click.echo(json.dumps(shown, indent=2))
        return
    for name, one in found.items():
        click.echo(f"journal {name}{'' if one else ': no cursor, no relay has committed yet'}")
        for label, value in cursor_lines(one) if one else ():
            click.echo(f"  {label:12}{printable(value)}")
