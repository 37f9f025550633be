"""``bridge dlq``."""

import json
import time
from typing import TYPE_CHECKING

import click

from bridge.cli.options import journal_option, journals_option, json_option
from bridge.cli.state import State, pass_state
from bridge.errors import ConfigError, OperatorError

if TYPE_CHECKING:
    from bridge.status.releasing import Answers

__all__ = ["dlq"]

wait_option = click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds to wait for the relay's answer.",
)


@click.group()
def dlq() -> None:
    """Look at events that cannot be published, and release them once their cause is mended."""


@dlq.command("list")
@journals_option
@json_option
@pass_state
def list_(state: State, journal: str | None, as_json: bool) -> None:
    """List parked entities, oldest first, and events that were discarded."""
    from bridge.kafka.from_config import kafka_topics, read_parked  # noqa: PLC0415 - slow
    from bridge.status.parked import parked_json, parked_text  # noqa: PLC0415 - slow

    topics = kafka_topics(state.config)
    found = {n: read_parked(state.config, n, topics) for n in state.journals(journal)}
    if as_json:
        click.echo(json.dumps({n: parked_json(ledger) for n, ledger in found.items()}, indent=2))
        return
    now_ms = time.time_ns() // 1_000_000
    click.echo("\n\n".join(parked_text(n, ledger, now_ms) for n, ledger in found.items()))


@dlq.command()
@click.argument("persistence_id", metavar="PID")
@journal_option
@click.option("--payload", is_flag=True, help="Print the payloads, too.")
@json_option
@pass_state
def show(
    state: State, persistence_id: str, journal: str | None, *, payload: bool, as_json: bool
) -> None:
    """Print the dead letters of one parked entity."""
    from bridge.status.parked import dead_letters, letter_json, letter_text  # noqa: PLC0415 - slow
    from bridge.status.releasing import find_parked  # noqa: PLC0415 - slow

    name = state.journal(journal)
    entity = find_parked(state.config, name, persistence_id)
    for number, record in dead_letters(state.config, name, entity):
        if as_json:
            click.echo(json.dumps(letter_json(number, record, payload=payload)))
        else:
            click.echo(letter_text(number, record, payload=payload))


@dlq.command()
@click.argument("persistence_id", metavar="[PID]", required=False)
@click.option("--all", "everything", is_flag=True, help="All parked entities.")
@journal_option
@wait_option
@click.pass_context
@pass_state
def replay(
    state: State,
    context: click.Context,
    persistence_id: str | None,
    *,
    everything: bool,
    journal: str | None,
    wait_s: float,
) -> None:
    """Publish the waiting events of an entity, in order; the relay does it.

    Ends with 6 while events still wait, because no relay has answered or one still cannot be sent.
    """
    from bridge.kafka.from_config import kafka_topics, read_parked  # noqa: PLC0415 - slow
    from bridge.status.releasing import find_parked, release  # noqa: PLC0415 - slow

    if everything == (persistence_id is not None):
        raise ConfigError("one entity or all of them?", "give a persistence id, or --all")
    name = state.journal(journal)
    if persistence_id is None:
        parked = list(read_parked(state.config, name, kafka_topics(state.config)).entities)
    else:
        parked = [find_parked(state.config, name, persistence_id).persistence_id]
    if not parked:
        click.echo(f"journal {name}: nothing is parked")
        return
    _tell(context, release(state.config, name, dict.fromkeys(parked), "", wait_s))


@dlq.command()
@click.argument("persistence_id", metavar="PID")
@click.argument("sequence_nr", metavar="SEQ", type=int)
@journal_option
@click.option("--note", default="", help="Why; kept with the record of it.")
@wait_option
@click.pass_context
@pass_state
def discard(
    state: State,
    context: click.Context,
    persistence_id: str,
    sequence_nr: int,
    *,
    journal: str | None,
    note: str,
    wait_s: float,
) -> None:
    """Give up the first waiting event of an entity for ever, then publish the rest as by replay.

    The journal keeps the event; its topics will never have it. It is recorded who did it.
    """
    from bridge.status.releasing import find_parked, release  # noqa: PLC0415 - slow

    name = state.journal(journal)
    entity = find_parked(state.config, name, persistence_id)
    if sequence_nr != entity.first:
        raise ConfigError(
            f"the first waiting event of {persistence_id!r} is {entity.first}, not {sequence_nr}",
            "only the first one can be discarded: the order of the others depends on it",
        )
    _tell(context, release(state.config, name, {persistence_id: sequence_nr}, note, wait_s))


def _tell(context: click.Context, answers: "Answers") -> None:
    from bridge.status.text import printable  # noqa: PLC0415 - slow, as all of its package

    for pid, reason in answers.items():
        said = "released" if reason is None else f"still parked: {reason}"
        click.echo(f"{printable(pid)!r}: {printable(said)}")
    if any(reason is not None for reason in answers.values()):
        context.exit(OperatorError.exit_code)
