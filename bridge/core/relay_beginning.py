"""How a relay begins and why it must not: its first cursor, and what speaks against going on."""

from dataclasses import replace

from bridge.core.cursor import Cursor
from bridge.core.effects import Attached
from bridge.core.relay_settings import RelaySettings
from bridge.errors import FencedError, OperatorError

__all__ = ["cursor_lost", "cursor_to_claim", "taken_over"]


def cursor_to_claim(settings: RelaySettings, found: Cursor | None, attached: Attached) -> Cursor:
    """What a relay commits first.

    Args:
        found: committed last by whatever relay; None when there was none.
    """
    if found is not None:
        return replace(found, owner=settings.owner, identity=attached.identity)
    return Cursor(
        app=settings.app,
        journal=settings.journal,
        shard=settings.shard,
        shards=settings.shards,
        owner=settings.owner,
        identity=attached.identity,
        origin=attached.position,
        position=attached.position,
        topics=(),
        rows=0,
        committed_at_ms=0,
    )


def cursor_lost(settings: RelaySettings, parked: int) -> OperatorError:
    """There is no cursor, and yet entities are parked."""
    return OperatorError(
        f"journal {settings.journal}: {parked} entities are parked, but there is no cursor that "
        "says up to where",
        "restore the cursor topic; to begin anew, delete the topics of dead letters and of parked "
        "entities together with the tag topics",
    )


def taken_over(settings: RelaySettings, rival: str) -> FencedError:
    """Another relay commits cursors."""
    return FencedError(
        f"journal {settings.journal}: relay {rival} has taken over",
        "one relay per journal and shard: leave this one stopped",
    )
