"""``bridge demo``."""

import json
import logging
import secrets
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

import click

from bridge.cli.options import json_option

if TYPE_CHECKING:
    from bridge.demo.result import Progress

__all__ = ["EXIT_NOT_CLEAN", "demo"]

EXIT_NOT_CLEAN: Final = 1

_EVENTS: Final = 3_000
_EVENTS_MAX: Final = 20_000
"""The built-in test cluster forgets records beyond some megabytes."""

_LIMIT_S: Final = 10.0
_LINE_S: Final = 2.0


@click.command()
@click.option(
    "--events",
    type=click.IntRange(min=200, max=_EVENTS_MAX),
    help=f"How many events to append; otherwise {_EVENTS}, or what {_LIMIT_S:g} s suffice for.",
)
@click.option("--fair", is_flag=True, help="Without skew: times in the order of commits.")
@click.option(
    "--journal",
    metavar="URL",
    envvar="BRIDGE_DEMO_JOURNAL",
    help="A PostgreSQL database, or a new SQLite file (or BRIDGE_DEMO_JOURNAL).",
)
@click.option("--kafka", metavar="HOST:PORT", help="Real brokers.")
@json_option
@click.pass_context
def demo(
    context: click.Context,
    events: int | None,
    journal: str | None,
    kafka: str | None,
    *,
    fair: bool,
    as_json: bool,
) -> None:
    """Show what a reader by timestamp cursor loses, and that bridge does not.

    Needs no server. With --journal and --kafka it runs on real ones, under names of its own, and
    removes everything afterwards. Ends with 1 when bridge has not delivered each event once.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it cleans up after both
    from bridge.demo.report import introduction, report_json, report_text  # noqa: PLC0415 - slow
    from bridge.demo.run import Options, run_demo  # noqa: PLC0415 - slow

    _quiet()
    options = Options(
        run=f"bridge-demo-{secrets.token_hex(3)}",
        events=events or _EVENTS,
        limit_s=float("inf") if events else _LIMIT_S,
        fair=fair,
        journal=journal,
        kafka=kafka,
    )
    click.echo(introduction(options), err=as_json)
    with _View() as view:
        result = run_demo(options, view.show)
    if as_json:
        click.echo(json.dumps(report_json(options, result), indent=2))
    else:
        click.echo(report_text(options, result))
    if not result.clean:
        context.exit(EXIT_NOT_CLEAN)


def _quiet() -> None:
    """Say only what is out of the ordinary, unless debugging."""
    logger = logging.getLogger("bridge")
    if logger.level == logging.INFO:
        logger.setLevel(logging.WARNING)


class _View:
    """Progress on standard error: one moving line on a terminal, otherwise a line now and then."""

    def __init__(self) -> None:
        self._moving = sys.stderr.isatty()
        self._next_s = time.monotonic() + _LINE_S

    def __enter__(self) -> "_View":
        return self

    def __exit__(self, *_: object) -> None:
        if self._moving:
            click.echo("\r\x1b[K", err=True, nl=False)

    def show(self, progress: "Progress") -> None:
        """Show where the demonstration is."""
        from bridge.demo.report import progress_text  # noqa: PLC0415 - loaded by now

        text = progress_text(progress)
        if self._moving:
            click.echo(f"\r{text}\x1b[K", err=True, nl=False)
        elif time.monotonic() >= self._next_s:
            self._next_s += _LINE_S
            click.echo(text, err=True)
