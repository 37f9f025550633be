"""The cursor: all that a relay must know to go on exactly where the last transaction ended."""

from dataclasses import dataclass, replace

from bridge.core.positions import Position

__all__ = ["Cursor", "JournalIdentity", "TopicIdentity"]


@dataclass(frozen=True, slots=True)
class JournalIdentity:
    """Tells a journal's database from a copy, an old backup or another server.

    Attributes:
        system: identifier of the server's data; for PostgreSQL its system identifier.
        timeline: number of the history that the server writes; 0 where there is no such thing.
        witness: random token that is in the journal's database since before the cursor that names
            it was committed; None where nothing may be written there.
    """

    system: str
    timeline: int
    witness: str | None


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """A tag topic as it was at first use: its records depend on both values staying so."""

    name: str
    topic_id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where one shard of one journal stands. Committed in the transaction of its records.

    Attributes:
        owner: the relay process that wrote it; tells a rival from a broker-side time-out.
        origin: position at which the relay first started; rows before it were never meant.
        position: everything before it is published, nothing behind it.
        topics: the tag topics used so far.
        rows: rows taken from the journal since the origin.
        committed_at_ms: the relay's clock when it wrote the cursor; for people only.
    """

    app: str
    journal: str
    shard: int
    shards: int
    owner: str
    identity: JournalIdentity
    origin: Position
    position: Position
    topics: tuple[TopicIdentity, ...]
    rows: int
    committed_at_ms: int

    def moved(self, position: Position, rows: int, at_ms: int) -> "Cursor":
        """The cursor after `rows` more rows, standing at `position`."""
        return replace(self, position=position, rows=self.rows + rows, committed_at_ms=at_ms)
