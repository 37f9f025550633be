"""``bridge version``."""

import click

from bridge import __version__

__all__ = ["version"]


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(__version__)
