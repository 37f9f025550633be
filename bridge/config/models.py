"""The configuration as typed, frozen values. Every public key is a field here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    field_validator,
    model_validator,
)

from bridge.config import journal_rules, topic_rules
from bridge.config.problems import KeyPath
from bridge.config.properties import property_problems
from bridge.config.rules import refuse
from bridge.config.values import (
    BatchBytes,
    BatchRecords,
    BootstrapServers,
    Durability,
    Identifier,
    Name,
    Partitions,
    PollIntervalMs,
    ReplicationFactor,
    SourceUri,
    Standbys,
    TopicCount,
    TransactionMs,
    TransactionPartitions,
)
from bridge.redact import MASK, is_secret_name, redact

__all__ = ["Config", "Journal", "Kafka", "Relay", "Section", "Topics"]

_TABLES: Final = {"bridge": "bridge_events", "actor-ts": "events"}
_INSTALLS: Final = {"actor-ts": "outbox"}

Texts = Annotated[tuple[str, ...], Field(strict=False)]


class Section(BaseModel):
    """A part of the configuration: unknown keys and loose types are refused, nothing changes."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", hide_input_in_errors=True, validate_default=True
    )


class Kafka(Section):
    """How to reach the brokers.

    Attributes:
        bootstrap_servers: ``host:port``, several separated by commas.
        properties: further librdkafka properties, as text; none that safety rests on.
    """

    bootstrap_servers: BootstrapServers
    properties: Mapping[str, str] = {}

    @field_validator("properties")
    @classmethod
    def _properties_are_harmless(cls, properties: Mapping[str, str]) -> Mapping[str, str]:
        refuse(((name,), what) for name, what in property_problems(properties))
        return properties

    def __repr_args__(self) -> list[tuple[str | None, object]]:
        """Keep secrets out of every repr."""
        shown = {k: MASK if is_secret_name(k) else redact(v) for k, v in self.properties.items()}
        return [("bootstrap_servers", self.bootstrap_servers), ("properties", shown)]


class Journal(Section):
    """One journal to relay.

    Attributes:
        url: address of the database; absent when `url_file` is given. Use `read_url`.
        url_file: file that holds the address.
        layout: shape of the tables.
        install: how ordering is added to somebody else's table; None for our own layout.
        ordering: strategy; ``auto`` takes the strongest the database offers.
        start: whether rows from before the first start are published.
        schema_name: key ``schema``; None means the server's default, ``public``.
        table: name of the journal's table.
        durability: when a row counts as durable.
        on_inversion: what to do when an entity's numbers were committed in the wrong order.
        source: ``ce_source`` of the records.
    """

    url: SecretStr | None = None
    url_file: Annotated[Path | None, Field(strict=False)] = None
    layout: Literal["bridge", "actor-ts"]
    install: Literal["outbox", "columns"] | None = None
    ordering: Literal["auto", "snapshot", "sequence"] = "auto"
    start: Literal["beginning", "now"] = "beginning"
    schema_name: Identifier | None = Field(default=None, alias="schema")
    table: Identifier
    durability: Durability = "flushed"
    on_inversion: Literal["stop", "late"] = "stop"
    source: SourceUri

    @model_validator(mode="before")
    @classmethod
    def _defaults_by_layout(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        layout = data.get("layout")
        known = layout if isinstance(layout, str) else ""
        # Without a valid layout the table is irrelevant: only the layout is reported.
        derived: dict[str, object] = {"table": _TABLES.get(known, "events")}
        if known in _INSTALLS:
            derived["install"] = _INSTALLS[known]
        return derived | data

    @model_validator(mode="after")
    def _keys_fit_together(self) -> "Journal":
        refuse(journal_rules.problems(self))
        return self

    @property
    def database(self) -> Literal["postgresql", "sqlite"]:
        """Kind of the database, from the scheme of the URL."""
        return journal_rules.database_of(self.read_url())

    @property
    def strategy(self) -> Literal["snapshot", "sequence"]:
        """The ordering in use: the strongest that the database offers, unless one was chosen."""
        if self.ordering != "auto":
            return self.ordering
        return "snapshot" if self.database == "postgresql" else "sequence"

    @property
    def standbys(self) -> int:
        """How many standbys must have flushed a row before it is published; 0: none."""
        return self.durability.standbys if isinstance(self.durability, Standbys) else 0

    def read_url(self) -> str:
        """Return the address with its password; a `url_file` is read anew by each call.

        Raises:
            ConfigError: the file cannot be read.
        """
        return journal_rules.read_url(self)


class Topics(Section):
    """Which topics there are and how they are created.

    Attributes:
        name: template with ``{tag}``, possibly ``{app}`` and ``{journal}``.
        include: globs of the tags that are relayed.
        exclude: globs of the tags that are not; stronger than `include`.
        map: tag → topic name, stronger than `name`.
        all: topic that gets every row, or None.
        partitions: number of partitions of a topic that is created.
        replication_factor: of a topic that is created; -1 is the broker's default.
        max_topics: how many tag topics the relay may create.
    """

    name: str = "{app}.{tag}"
    include: Texts = ("*",)
    exclude: Texts = ()
    map: Mapping[str, str] = {}
    all: str | None = None
    partitions: Partitions = 6
    replication_factor: ReplicationFactor = -1
    max_topics: TopicCount = 500

    @field_validator("name")
    @classmethod
    def _template_is_legal(cls, template: str) -> str:
        refuse(topic_rules.template_problems(template))
        return template

    @field_validator("map")
    @classmethod
    def _mapped_names_are_legal(cls, mapping: Mapping[str, str]) -> Mapping[str, str]:
        refuse(topic_rules.map_problems(mapping))
        return mapping

    @field_validator("all")
    @classmethod
    def _complete_topic_is_legal(cls, topic: str | None) -> str | None:
        if topic is not None:
            refuse(topic_rules.name_problems(topic))
        return topic

    @model_validator(mode="after")
    def _complete_topic_is_its_own(self) -> "Topics":
        if self.all is not None and self.all in self.map.values():
            what = "is also a topic of topics.map: rows of that tag would be there twice"
            refuse([(("all",), what)])
        return self


class Relay(Section):
    """How rows are cut into transactions.

    Attributes:
        batch_max_records: records of one transaction at most.
        batch_max_bytes: bytes of one transaction at most; a single larger record still fits.
        transaction_max_ms: a transaction is committed after this time at the latest.
        transaction_max_partitions: partitions one transaction touches at most.
        poll_interval_ms: pause between two looks at an idle journal.
        on_poison: what to do with an event that cannot be published: it and the later ones of its
            entity wait in the dead-letter topic (`park`), or the relay stops before it (`stop`).
    """

    batch_max_records: BatchRecords = 5_000
    batch_max_bytes: BatchBytes = 8_388_608
    transaction_max_ms: TransactionMs = 500
    transaction_max_partitions: TransactionPartitions = 100
    poll_interval_ms: PollIntervalMs = 20
    on_poison: Literal["park", "stop"] = "park"


class Config(Section):
    """The whole configuration.

    Attributes:
        app: prefix of topics, cursors and transactional ids.
        journals: by name, at least one.
    """

    app: Name
    kafka: Kafka
    journals: Annotated[Mapping[Name, Journal], Field(min_length=1)]
    topics: Topics = Topics()
    relay: Relay = Relay()
    _origins: Mapping[KeyPath, str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _default_sources(cls, data: object) -> object:
        if not isinstance(data, dict) or not isinstance(data.get("journals"), dict):
            return data
        app = data.get("app") if isinstance(data.get("app"), str) else ""
        journals = {
            name: {"source": f"/{app}/{name}"} | journal if isinstance(journal, dict) else journal
            for name, journal in data["journals"].items()
        }
        return data | {"journals": journals}

    @model_validator(mode="after")
    def _topics_fit_journals(self) -> "Config":
        found = topic_rules.shared_problems(self.topics, self.app, tuple(self.journals))
        refuse((("topics", *path), what) for path, what in found)
        return self

    @property
    def origins(self) -> Mapping[KeyPath, str]:
        """Where each given key came from; a key that is absent here has its default."""
        return self._origins

    def with_origins(self, origins: Mapping[KeyPath, str]) -> "Config":
        """Return the same configuration, knowing where its values came from."""
        known = self.model_copy()
        known._origins = dict(origins)
        return known
