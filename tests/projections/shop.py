"""Tag topics filled as a relay fills them, and a read model that counts what it is given."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from bridge.config import Config
from bridge.core.positions import Place
from bridge.core.rows import JournalRow
from bridge.envelope.naming import TopicNames
from bridge.envelope.records import RowEncoder, mark_late
from bridge.kafka.from_config import kafka_topics, topic_names
from bridge.projections import Event, Projection, SqlStore
from bridge.readmodels.base import OffsetStore
from tests.waiting import wait_until

__all__ = ["Applied", "ReadModel", "Shop", "catch_up", "numbers", "soon"]

_TIMEOUT_S = 20.0
_TABLE = (
    "CREATE TABLE applied (at bigint GENERATED ALWAYS AS IDENTITY, entity text NOT NULL, "
    "number bigint NOT NULL, topic text NOT NULL)"
)
_APPLY = text("INSERT INTO applied (entity, number, topic) VALUES (:entity, :number, :topic)")


class Applied(NamedTuple):
    """An event as the read model got it."""

    entity: str
    number: int


def numbers(entity: str, first: int, last: int) -> list[Applied]:
    """Events of an entity, both ends included."""
    return [Applied(entity, number) for number in range(first, last + 1)]


def catch_up(projection: Projection, config: Config) -> None:
    """One life of a projection, to the end of what is there."""

    async def live() -> None:
        async with asyncio.timeout(60), projection.running(config) as running:
            await running.until_caught_up()

    asyncio.run(live())


async def soon(predicate: Callable[[], Awaitable[Any]], what: str, timeout_s: float = 30.0) -> Any:
    """The predicate's truthy value, as soon as it has one."""
    try:
        async with asyncio.timeout(timeout_s):
            while not (value := await predicate()):
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {timeout_s} s: {what}") from None
    return value


class Shop:
    """Topics of the journal `orders` in an app of its own."""

    def __init__(self, bootstrap_servers: str, app: str, folder: Path, partitions: int = 1) -> None:
        self.config = Config.model_validate(
            {
                "app": app,
                "kafka": {"bootstrap_servers": bootstrap_servers},
                "journals": {
                    "orders": {"url": f"sqlite:///{folder / 'journal.db'}", "layout": "bridge"}
                },
                "topics": {"partitions": partitions},
            }
        )
        self._names: TopicNames = topic_names(self.config, "orders")
        self._topics = kafka_topics(self.config)
        self._encoder = RowEncoder(self._names, f"/{app}/orders")
        self._client: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "log_level": 0,
        }
        self._admin = AdminClient(self._client)
        self._producer = Producer({**self._client, "transactional.id": f"{app}--orders--0"})
        self._producer.init_transactions(_TIMEOUT_S)

    def topic(self, tag: str) -> str:
        """Name of a tag's topic."""
        name = self._names.of_tag(tag)
        assert name is not None
        return name

    def publish(
        self, events: Iterable[Applied], tags: Sequence[str] = ("orders",), *, late: bool = False
    ) -> None:
        """Commit events in one transaction; topics are made as needed."""
        rows = [_row(event, tuple(tags)) for event in events]
        facts = self._topics.ensure(self._encoder.topics_of(rows))
        encoded = self._encoder.encode(rows, facts, 0)
        self._producer.begin_transaction()
        for row in map(mark_late, encoded) if late else encoded:
            for record in row.records:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    timestamp=record.timestamp_ms,
                    headers=[(name, value) for name, value in record.headers],
                )
        self._producer.commit_transaction(_TIMEOUT_S)

    def publish_raw(self, tag: str, key: bytes, value: bytes) -> None:
        """Commit a record that no relay has made."""
        self._producer.begin_transaction()
        self._producer.produce(self.topic(tag), value, key, 0)
        self._producer.commit_transaction(_TIMEOUT_S)

    def delete_records(self, tag: str, below: int) -> None:
        """What retention does: partition 0 begins at `below` afterwards."""
        place = TopicPartition(self.topic(tag), 0, below)
        self._admin.delete_records([place])[place].result(_TIMEOUT_S)

    def add_partitions(self, tag: str, total: int) -> None:
        """Give a topic more partitions, as an operator does who knows no better."""
        name = self.topic(tag)
        self._admin.create_partitions([NewPartitions(name, total)])[name].result(_TIMEOUT_S)

        def known() -> bool:  # to the producer, which would else refuse to send there
            found = self._producer.list_topics(name, timeout=_TIMEOUT_S).topics[name]
            return len(found.partitions) == total

        wait_until(known, _TIMEOUT_S, "the partitions are there")

    def delete_topic(self, tag: str) -> None:
        """Delete a tag's topic."""
        admin, name = self._admin, self.topic(tag)
        admin.delete_topics([name])[name].result(_TIMEOUT_S)
        wait_until(lambda: name not in admin.list_topics(timeout=_TIMEOUT_S).topics, _TIMEOUT_S)


def _row(event: Applied, tags: tuple[str, ...]) -> JournalRow:
    payload = json.dumps({"entity": event.entity, "number": event.number}).encode()
    place: Place = (event.number, event.entity, event.number)
    return JournalRow(
        event.entity, event.number, payload, tags, 1_000, "happened", "application/json", (), place
    )


class ReadModel:
    """A list of what was applied, in PostgreSQL; nothing in it refuses a repetition."""

    def __init__(self, url: str) -> None:
        self.url = url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_TABLE)

    def projection(
        self, handler: Callable[..., Any] | None = None, name: str = "totals", **options: Any
    ) -> Projection:
        """A projection of tag `orders` into it, with a store of its own."""
        store = SqlStore(self.url, max_idle_s=options.pop("max_idle_s", 60.0))
        given: dict[str, Any] = {"tags": ["orders"], **options}
        return Projection(name, handler=handler or self.apply, store=store, **given)

    @staticmethod
    def unstored(handler: Callable[..., Any], store: OffsetStore[Any]) -> Projection:
        """A projection of tag `orders` into another store."""
        return Projection("totals", tags=["orders"], handler=handler, store=store)

    async def apply(self, event: Event, tx: AsyncConnection) -> None:
        """The plainest handler."""
        await tx.execute(_APPLY, _parameters(event))

    def apply_plain(self, event: Event, tx: Connection) -> None:
        """The same as a plain function."""
        tx.execute(_APPLY, _parameters(event))

    def applied(self) -> list[Applied]:
        """What was applied, in order."""
        return [
            Applied(*row) for row in self._query("SELECT entity, number FROM applied ORDER BY at")
        ]

    def offsets(self, topic: str) -> dict[int, int]:
        """Stored offsets by partition."""
        query = "SELECT partition, next_offset FROM bridge_projection_offsets WHERE topic = %s"
        return dict(self._query(query, topic))

    async def holds(self, number: int) -> None:
        """Return as soon as so many events are applied."""

        async def enough() -> bool:
            return len(await asyncio.to_thread(self.applied)) >= number

        await soon(enough, f"{number} events are applied")

    def _query(self, query: str, *parameters: object) -> list[Any]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(query, parameters).fetchall()


def _parameters(event: Event) -> dict[str, object]:
    return {"entity": event.persistence_id, "number": event.sequence_nr, "topic": event.topic}
