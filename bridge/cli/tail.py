"""``bridge tail``."""

import json
from contextlib import closing
from itertools import islice

import click

from bridge.cli.options import journal_option
from bridge.cli.state import State, pass_state

__all__ = ["tail"]


@click.command()
@click.argument("tag")
@journal_option
@click.option("--from-beginning", is_flag=True, help="Begin with the topic's first record.")
@click.option("--limit", type=click.IntRange(min=1), help="End after so many records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@pass_state
def tail(
    state: State,
    tag: str,
    journal: str | None,
    *,
    from_beginning: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print the committed records of a tag's topic as they come, until interrupted."""
    from bridge.status.records import record_json, record_text, tail_tag  # noqa: PLC0415 - slow

    name = state.journal(journal)
    found = tail_tag(state.config, name, tag, from_beginning=from_beginning)
    with closing(found) as records:
        for record in islice(records, limit):
            click.echo(json.dumps(record_json(record)) if as_json else record_text(record))
