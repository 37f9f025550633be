"""A demonstration in words and tables."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from bridge.demo.result import Progress, Result, Side
from bridge.demo.run import Options
from bridge.demo.story import ACCOUNTS, WRITERS
from bridge.demo.tally import Tally
from bridge.demo.usual_way import Missed

__all__ = ["introduction", "progress_text", "report_json", "report_text"]

_CURSOR = "(timestamp, persistence_id, sequence_nr) > cursor"


def introduction(options: Options) -> str:
    """What is about to happen."""
    return "\n".join(
        [
            f"{WRITERS} writers append deposits on {ACCOUNTS} accounts to a journal of layout "
            f"actor-ts in {_database(options)}.",
            _skew(options),
            "Meanwhile two readers make balances of them:",
            f"  the usual way  polls WHERE {_CURSOR}",
            f"  bridge         relay → topic in {_cluster(options)} → projection",
            "",
        ]
    )


def progress_text(progress: Progress) -> str:
    """One line."""
    return (
        f"{progress.seconds:5.1f} s  appended {progress.appended:>6,}  "
        f"usual way {progress.usual:>6,}, passed over {progress.passed_over:>5,}  "
        f"bridge {progress.applied:>6,}"
    )


def report_text(options: Options, result: Result) -> str:
    """The tables at the end."""
    parts = [
        f"{result.appended:,} events appended in {result.seconds:.1f} s",
        "",
        *_table(
            ("", "delivered", "lost", "duplicated", "inverted"),
            [("the usual way", *_counts(result.usual)), ("bridge", *_counts(result.bridge))],
        ),
        "",
        *_table(
            ("read model", "accounts", "deposits", "sum", "accounts wrong"),
            [
                ("fold of the journal", *_sums(result.truth), ""),
                ("the usual way", *_model(result, result.usual)),
                ("bridge's projection", *_model(result, result.bridge)),
            ],
        ),
        "",
        *_lines_about_loss(options, result),
        *_verdict(result),
        *_caveat(options),
    ]
    return "\n".join(parts)


def report_json(options: Options, result: Result) -> dict[str, Any]:
    """The same for programs."""
    mock = options.kafka is None
    return {
        **result.as_dict(),
        "fair": options.fair,
        "journal": _database(options),
        "broker": "librdkafka test cluster" if mock else options.kafka,
        "volatile_and_unfenced": mock,
    }


def _database(options: Options) -> str:
    scheme = (options.journal or "sqlite").partition(":")[0]
    return "SQLite" if scheme.startswith("sqlite") else "PostgreSQL"


def _cluster(options: Options) -> str:
    return "librdkafka's test cluster" if options.kafka is None else f"Kafka at {options.kafka}"


def _skew(options: Options) -> str:
    if options.fair:
        return (
            "--fair: each takes its event's time when no other writer is at work, so times\n"
            "are in the order of commits."
        )
    return (
        "Each takes its event's time, works for 2 to 10 ms (one time in 25 for 150 to 300 ms),\n"
        "and then commits."
    )


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [heading, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heading))]
    return [
        "  "
        + "   ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _counts(side: Side) -> list[str]:
    found: Tally = side.tally
    numbers = (found.delivered, found.lost, found.duplicated, found.inverted)
    return [f"{number:,}" for number in numbers]


def _sums(balances: Any) -> list[str]:
    deposits = sum(balance.deposits for balance in balances.values())
    total = sum(balance.total for balance in balances.values())
    return [f"{number:,}" for number in (len(balances), deposits, total)]


def _model(result: Result, side: Side) -> list[str]:
    return [*_sums(side.balances), f"{result.differing(side):,}"]


def _lines_about_loss(options: Options, result: Result) -> list[str]:
    lost = result.usual.tally.lost
    share = 100 * lost / max(1, result.appended)
    if lost == 0:
        why = " under --fair" if options.fair else ""
        return [f"The usual way has lost nothing this time{why}.", ""]
    text = f"The usual way has lost {lost:,} {'event' if lost == 1 else 'events'} ({share:.2g} %)."
    if options.fair:
        # Ties are told apart by the persistence id, in whatever order they were committed.
        return [text, "Even so, events of one millisecond may be committed in another order.", ""]
    return [text, *_example(result.example), ""]


def _example(missed: Missed | None) -> list[str]:
    if missed is None:
        return []
    pid, number = missed.event.key
    late_ms = missed.event.committed_ms - missed.event.timestamp_ms
    return [
        f"One of them is {pid}/{number}: its time is {_clock(missed.event.timestamp_ms)}, its "
        f"commit was {late_ms} ms later.",
        f"By then the cursor stood at {_clock(missed.cursor_ms)}, so no poll ever finds it. There "
        "is no error.",
    ]


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).strftime("%H:%M:%S.%f")[:-3]


def _verdict(result: Result) -> list[str]:
    if result.clean:
        return [
            "bridge has delivered every event once and in order. `bridge verify` agrees, and the",
            "projection's read model is the fold of the journal.",
            "",
        ]
    unexpected = result.bridge.tally.unexpected
    verified = "agrees" if result.verified else "has found differences"
    return [
        f"BRIDGE HAS NOT KEPT ITS PROMISE. `bridge verify` {verified}; {unexpected} events are",
        "in the read model and not in the journal. Please report this with the output above.",
        "",
    ]


def _caveat(options: Options) -> list[str]:
    if options.kafka is None:
        return [
            "The broker was librdkafka's built-in test cluster, inside this process: volatile, and",
            "without fencing. It shows the path; the guarantees need real brokers:",
            "  bridge demo --journal postgresql://user@host/database --kafka host:9092",
        ]
    return [f"What was made on the servers was named {options.run} and is removed again."]
