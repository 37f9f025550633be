"""The command group: global options and the explicit list of commands."""

from pathlib import Path
from typing import Final

import click

from bridge.cli.check import check
from bridge.cli.config import config
from bridge.cli.cursors import cursors
from bridge.cli.demo import demo
from bridge.cli.dlq import dlq
from bridge.cli.install import init, uninstall
from bridge.cli.project import project
from bridge.cli.relay import relay
from bridge.cli.state import State
from bridge.cli.status import status
from bridge.cli.tail import tail
from bridge.cli.verify import verify
from bridge.cli.version import version

__all__ = ["bridge"]

_COMMANDS: Final[tuple[click.Command, ...]] = (
    demo,
    init,
    uninstall,
    check,
    config,
    relay,
    project,
    status,
    verify,
    tail,
    cursors,
    dlq,
    version,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-c",
    "--config",
    "config_path",
    envvar="BRIDGE_CONFIG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file (or BRIDGE_CONFIG). Default: bridge.yaml, if there is one.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Least severe lines to log; debug also shows tracebacks.",
)
@click.pass_context
def bridge(context: click.Context, config_path: Path | None, log_level: str) -> None:
    """Relay events from journals to Kafka topics: each once, in commit order."""
    from bridge.logs import configure_logging  # noqa: PLC0415 - slow; help does without it

    configure_logging(log_level)
    context.obj = State(config_path)


for _command in _COMMANDS:
    bridge.add_command(_command)
