"""``bridge init`` and ``bridge uninstall``."""

from collections.abc import Sequence

import click

from bridge.cli.options import dry_run_option, journal_option, relay_role_option
from bridge.cli.state import State, pass_state

__all__ = ["init", "uninstall"]


@click.command()
@journal_option
@dry_run_option
@relay_role_option("Grant this role what the relay needs.")
@pass_state
def init(state: State, journal: str | None, dry_run: bool, relay_role: str | None) -> None:
    """Create in the journal's database what the relay needs; writers may go on writing."""
    from bridge.journals.opening import open_installer  # noqa: PLC0415 - slow

    name = state.journal(journal)
    installer = open_installer(state.config, name)
    if dry_run:
        _print_statements(installer.plan(relay_role))
        return
    installer.install(relay_role)
    click.echo(f"journal {name}: installed")


@click.command()
@journal_option
@dry_run_option
@relay_role_option("Revoke from this role what init granted.")
@click.option("--drop-events", is_flag=True, help="Drop bridge_events even if it holds events.")
@pass_state
def uninstall(
    state: State, journal: str | None, dry_run: bool, relay_role: str | None, drop_events: bool
) -> None:
    """Remove from the journal's database what init created."""
    from bridge.journals.opening import open_installer  # noqa: PLC0415 - slow

    name = state.journal(journal)
    installer = open_installer(state.config, name)
    if dry_run:
        _print_statements(installer.removal_plan(relay_role, drop_events=drop_events))
        return
    installer.uninstall(relay_role, drop_events=drop_events)
    click.echo(f"journal {name}: uninstalled")


def _print_statements(statements: Sequence[str]) -> None:
    click.echo("\n\n".join(f"{s};" for s in statements))
