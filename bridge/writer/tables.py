"""The columns of `bridge_events` that a writer supplies, for SQLAlchemy Core.

`txid` and `ordering` are absent on purpose: only the server may fill them, or commit order could
not be told from the rows. The full DDL belongs to `bridge init`.
"""

import json
from typing import Any

from sqlalchemy import BigInteger, Column, Dialect, LargeBinary, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeDecorator

__all__ = ["bridge_events", "metadata"]


class _JsonText(TypeDecorator[Any]):
    """JSON in a text column, written the same way whatever serializer the engine was given."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any | None:  # noqa: ARG002
        return None if value is None else json.loads(value)


metadata = MetaData()
"""Without a schema: a schema is a matter of the statement (`schema_translate_map`)."""

bridge_events = Table(
    "bridge_events",
    metadata,
    Column("persistence_id", Text, primary_key=True),
    Column("sequence_nr", BigInteger, primary_key=True),
    Column("event_type", Text, nullable=False),
    Column("content_type", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("tags", ARRAY(Text).with_variant(_JsonText(), "sqlite"), nullable=False),
    Column("metadata", JSONB().with_variant(_JsonText(), "sqlite"), nullable=False),
    Column("timestamp_ms", BigInteger, nullable=False),
)
