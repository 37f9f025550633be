"""``bridge verify``."""

import json
from typing import TYPE_CHECKING, Final

import click

from bridge.cli.options import journal_option, json_option
from bridge.cli.state import State, pass_state

if TYPE_CHECKING:
    from bridge.verify.report import Report

__all__ = ["EXIT_DIFFERENT", "verify"]

EXIT_DIFFERENT: Final = 1

_ADVICE: Final = {
    "missing": "a topic or its records were deleted, or the journal was restored or written past "
    "the relay: keep both as they are, and see `bridge check --connect`",
    "duplicated": "somebody else writes to the topic, or the cursor topic was lost: look at the "
    "records' headers before a projection counts them twice",
    "inverted": "consumers that drop numbers below the last one lose these events: see the "
    "records' headers for who wrote them",
    "unexpected": "somebody else writes to the topic, or the journal was restored to a time "
    "before these records: take write rights from all but the relay",
}


@click.command()
@json_option
@journal_option
@click.pass_context
@pass_state
def verify(state: State, context: click.Context, as_json: bool, journal: str | None) -> None:
    """Compare a journal with its topics; ends with 1 when they differ.

    Reads the journal and its topics once, whole. Relay and writers may go on meanwhile.
    """
    from bridge.verify.audit import verify as compare  # noqa: PLC0415 - slow

    report = compare(state.config, state.journal(journal))
    if as_json:
        click.echo(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(report)))
    if not report.clean:
        context.exit(EXIT_DIFFERENT)


def _lines(report: "Report") -> list[str]:
    from bridge.verify.report import Kind  # noqa: PLC0415 - see above

    lines = [
        f"journal {report.journal}: {report.rows} rows, {report.records} records in its topics",
        "",
    ]
    width = max(len(kind.key) for kind in Kind)
    lines += [f"  {k.label:<{width}}  {report.count(k):>10}  {k.meaning}" for k in Kind]
    for kind in Kind:
        if report.count(kind):
            shown = report.examples(kind)
            lines += ["", f"{kind.label} (the first {len(shown)} of {report.count(kind)}):"]
            lines += [f"  {example}" for example in shown]
            if kind.fault:
                lines.append(f"  → {_ADVICE[kind.key]}")
    same = "journal and topics agree"
    return [*lines, "", same if report.clean else "journal and topics differ"]
