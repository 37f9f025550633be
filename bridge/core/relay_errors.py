"""Why a relay ends, in words."""

from bridge.core.cursor import Cursor
from bridge.errors import FencedError, OperatorError

__all__ = ["superseded", "with_doubtful_range"]


def superseded(journal: str, rival: str) -> FencedError:
    """Another relay publishes this journal."""
    return FencedError(
        f"journal {journal}: relay {rival} has taken over",
        "one relay per journal and shard: leave this one stopped",
    )


def with_doubtful_range(
    error: OperatorError, cursor: Cursor | None, matched: Cursor | None
) -> OperatorError:
    """The error, and what was published since the topics last matched.

    A topic that is deleted takes what is sent to it in silence.

    Args:
        cursor: committed last.
        matched: committed when the topics last matched.
    """
    if cursor is None or matched is None:
        return error
    rows = cursor.rows - matched.rows
    return OperatorError(
        f"{error.what}; {rows} rows were published since all topics last matched, from "
        f"position {matched.position} to {cursor.position}",
        error.hint,
    )
