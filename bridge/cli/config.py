"""``bridge config``: look at the effective configuration."""

import json

import click

from bridge.cli.state import State, pass_state

__all__ = ["config"]


@click.group()
def config() -> None:
    """Look at the effective configuration."""


@config.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON array of key, value and origin.")
@pass_state
def show(state: State, as_json: bool) -> None:
    """Print every value with its origin; secrets are masked."""
    from bridge.config import as_text, shown_values  # noqa: PLC0415 - slow

    values = shown_values(state.config)
    if not as_json:
        click.echo(as_text(values))
        return
    rows = [{"key": list(v.path), "value": v.value, "origin": v.origin} for v in values]
    click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
