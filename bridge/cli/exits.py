"""Entry point: runs a command and turns whatever it raises into a message and an exit code."""

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import click

from bridge.cli.group import bridge
from bridge.errors import BridgeError
from bridge.redact import redact

__all__ = ["EXIT_BROKEN_PIPE", "EXIT_INTERNAL", "EXIT_INTERRUPTED", "main", "run"]

EXIT_INTERNAL: Final = 70
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as a shell reports it
EXIT_BROKEN_PIPE: Final = 141  # 128 + SIGPIPE: the reader of our output has gone


def main() -> None:
    """Run the command line of this process and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; the result is the exit code, messages go to stderr without secrets."""
    try:
        outcome = bridge.main(list(arguments), prog_name="bridge", standalone_mode=False)
        sys.stdout.flush()
    except BridgeError as error:
        _say(f"bridge: {error}")
        _say_traceback()
        return error.exit_code
    except click.ClickException as error:
        _say(_usage_text(error))
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("bridge: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the outermost frame: nothing may pass unreported
        _say(f"bridge: internal error: {type(error).__name__}: {error}")
        if not _say_traceback():
            _say("  → run with --log-level debug for the traceback, and report it")
        return EXIT_INTERNAL
    return outcome if isinstance(outcome, int) else 0


def _usage_text(error: click.ClickException) -> str:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()  # the help text itself
    text = f"bridge: {error.format_message()}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    return text if context is None else f"{text}\n  → see `{context.command_path} --help`"


def _say_traceback() -> bool:
    if not logging.getLogger("bridge").isEnabledFor(logging.DEBUG):
        return False
    _say(traceback.format_exc())
    return True


def _say(text: str) -> None:
    click.echo(redact(text), err=True)
