"""A journal's status as JSON and as text."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from bridge.journals.health import Blocker, Lag
from bridge.status.cursors import cursor_json, cursor_lines
from bridge.status.journal_status import BYPASSED_LIMIT, JournalStatus
from bridge.status.parked import ParkedSummary
from bridge.status.text import age, at_least, printable

__all__ = ["status_json", "status_text"]

_LABEL_WIDTH = 12


def status_json(status: JournalStatus, now_ms: int) -> dict[str, Any]:
    """The status with stable keys; `now_ms` is what ages are counted from."""
    failure, bypassed = status.failure, status.bypassed
    return {
        "journal": status.journal,
        "database": status.database,
        "layout": status.layout,
        "ordering": status.ordering,
        "cursor": cursor_json(status.cursor) if status.cursor else None,
        "lag": _lag_json(status.lag, now_ms) if status.lag else None,
        "blockers": [asdict(blocker) for blocker in status.blockers],
        "identity_ok": status.identity_ok,
        "bypassed": None
        if bypassed is None
        else {"rows": bypassed, "at_least": bypassed >= BYPASSED_LIMIT},
        "parked": _parked_json(status.parked, now_ms) if status.parked else None,
        "problems": list(status.problems),
        "failure": {"what": failure.what, "hint": failure.hint} if failure else None,
    }


def status_text(status: JournalStatus, now_ms: int) -> str:
    """The status, one fact a line."""
    head = f"journal {status.journal} ({status.database}, layout {status.layout})"
    lines = [
        f"  {label:{_LABEL_WIDTH}}{printable(value)}" for label, value in _facts(status, now_ms)
    ]
    return "\n".join([head, *lines])


def _facts(status: JournalStatus, now_ms: int) -> Iterator[tuple[str, str]]:
    yield "ordering", status.ordering
    if status.cursor is None:
        yield "cursor", "none: no relay has committed yet" if not status.problems else "none"
    else:
        yield from cursor_lines(status.cursor)
        since_s = (now_ms - status.cursor.cursor.committed_at_ms) / 1000
        yield "cursor age", age(since_s)
    if status.lag is not None:
        yield "lag", _lag_text(status.lag, now_ms)
    for blocker in status.blockers:
        yield "open", _blocker_text(blocker)
    if status.identity_ok is not None:
        yield "identity", "ok" if status.identity_ok else "MISMATCH"
    if status.bypassed is not None:
        yield "bypassed", at_least(status.bypassed, status.bypassed >= BYPASSED_LIMIT)
    if status.parked is not None:
        yield "parked", _parked_text(status.parked, now_ms)
    for problem in status.problems:
        yield "PROBLEM", problem
    if status.failure is not None:
        yield "FAILED", status.failure.what


def _lag_json(lag: Lag, now_ms: int) -> dict[str, Any]:
    oldest_s = None if lag.oldest_ms is None else (now_ms - lag.oldest_ms) / 1000
    return {"rows": lag.rows, "at_least": lag.at_least, "oldest_age_s": oldest_s}


def _lag_text(lag: Lag, now_ms: int) -> str:
    rows = f"{at_least(lag.rows, lag.at_least)} rows"
    if lag.oldest_ms is None:
        return rows
    return f"{rows}, the oldest event is {age((now_ms - lag.oldest_ms) / 1000)} old"


def _parked_json(parked: ParkedSummary, now_ms: int) -> dict[str, Any]:
    oldest_s = None if parked.oldest_ms is None else (now_ms - parked.oldest_ms) / 1000
    return {
        "entities": parked.entities,
        "events": parked.events,
        "oldest_age_s": oldest_s,
        "requested": parked.requested,
    }


def _parked_text(parked: ParkedSummary, now_ms: int) -> str:
    if parked.oldest_ms is None:
        return "nothing"
    since = age((now_ms - parked.oldest_ms) / 1000)
    return (
        f"{parked.entities} entities, {parked.events} events, the oldest for {since}: see "
        "`bridge dlq list`"
    )


def _blocker_text(blocker: Blocker) -> str:
    if blocker.prepared is not None:
        whose = f"prepared as {blocker.prepared!r}"
    else:
        whose = f"session {blocker.pid} of {blocker.application or 'an unnamed application'}"
    known = [
        f"user {blocker.user}" if blocker.user else None,
        blocker.state,
        "age unknown: grant pg_monitor" if blocker.age_s is None else f"for {age(blocker.age_s)}",
    ]
    details = ", ".join(part for part in known if part)
    return f"transaction {blocker.transaction}, {whose} ({details}): its own rows wait for its end"
