"""Tables beside a read model."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

__all__ = ["ProjectionTables"]


class ProjectionTables:
    """The tables, in a schema or in the connection's default one."""

    def __init__(self, schema: str | None) -> None:
        self.metadata = MetaData(schema=schema)
        self.offsets = Table(
            "bridge_projection_offsets",
            self.metadata,
            Column("projection", Text, primary_key=True),
            Column("topic", Text, primary_key=True),
            Column("partition", Integer, primary_key=True),
            Column("epoch", BigInteger, nullable=False),
            Column("next_offset", BigInteger, nullable=False),
            Column("topic_id", Text, nullable=False),
            Column("leader_epoch", Integer),
        )
        self.heads = Table(
            "bridge_projection_heads",
            self.metadata,
            *_entity_columns(),
            Column("sequence_nr", BigInteger, nullable=False),
            *_place_columns(),
        )
        self.late = Table(
            "bridge_projection_late",
            self.metadata,
            *_entity_columns(),
            Column("sequence_nr", BigInteger, primary_key=True, autoincrement=False),
            *_place_columns(),
        )
        for table in (self.heads, self.late):
            columns = (table.c.projection, table.c.topic, table.c.partition, table.c.seen_offset)
            Index(f"{table.name}_seen", *columns)


def _entity_columns() -> list[Column[object]]:
    return [
        Column("projection", Text, primary_key=True),
        Column("topic", Text, primary_key=True),
        Column("source", Text, primary_key=True),
        # Bytes: an id may hold characters that a text column refuses, or takes for equal.
        Column("entity", LargeBinary, primary_key=True),
    ]


def _place_columns() -> list[Column[object]]:
    return [
        Column("partition", Integer, nullable=False),
        Column("seen_offset", BigInteger, nullable=False),
    ]
