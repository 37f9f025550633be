"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

__all__ = [
    "dry_run_option",
    "journal_option",
    "journals_option",
    "json_option",
    "relay_role_option",
]

journal_option = click.option(
    "--journal", metavar="NAME", help="Which journal; needed only when there are several."
)
journals_option = click.option(
    "--journal", metavar="NAME", help="Only this journal; otherwise all of them."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print the statements, execute nothing."
)


def relay_role_option(meaning: str) -> Callable[[Any], Any]:
    """Option that names the database role of the relay."""
    return click.option("--relay-role", metavar="ROLE", help=meaning)
