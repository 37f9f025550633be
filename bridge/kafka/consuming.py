"""The asyncio consumer of projections, with the same settings as all other clients."""

import asyncio
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    TopicAuthorizationFailedError,
)

from bridge.envelope.inbound import InboundRecord
from bridge.errors import ConfigError, UnavailableError
from bridge.kafka.settings import KafkaSettings

__all__ = ["REBALANCE_S", "GroupConsumer", "Listener", "client_options"]

Place = tuple[str, int]

REBALANCE_S = 20
"""How long a group waits for its members when partitions move."""

_SESSION_MS = 10_000
_METADATA_MAX_AGE_MS = 5_000
"""After this time new partitions of a topic are noticed."""

_FETCH_WAIT_MS = 100
_POSITION_S = 1.0
_FETCH_BYTES = 4 * 1024 * 1024

_PLAIN: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "security.protocol": ("security_protocol", str.upper),
    "sasl.mechanism": ("sasl_mechanism", str),
    "sasl.mechanisms": ("sasl_mechanism", str),
    "sasl.username": ("sasl_plain_username", str),
    "sasl.password": ("sasl_plain_password", str),
    "sasl.kerberos.service.name": ("sasl_kerberos_service_name", str),
    "client.id": ("client_id", str),
    "client.rack": ("client_rack", str),
}
_TLS = {
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
}


class Listener(Protocol):
    """Is told that the group moves partitions."""

    async def revoked(self) -> None:
        """All partitions are to be given up; the group waits for this, not for ever."""

    def assigned(self) -> None:
        """Partitions were given out; each of them has to be sought."""


class GroupConsumer:
    """A member of a group; it never commits and never resets offsets: it only goes where told.

    Args:
        check_crcs: False only for librdkafka's test cluster, whose control batches have none.

    Raises:
        ConfigError: a property about security has no counterpart in this client.
    """

    def __init__(self, settings: KafkaSettings, group: str, *, check_crcs: bool = True) -> None:
        self._servers = settings.bootstrap_servers
        self._group = group
        self._check_crcs = check_crcs
        self._properties = client_options(settings.properties)
        self._consumer: Any = None
        self._listener: _Rebalances | None = None

    async def start(self, listener: Listener) -> None:
        """Connect."""
        self._listener = _Rebalances(listener)
        # Made here: the client belongs to the event loop in which it is made.
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self._servers.split(","),
            group_id=self._group,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
            check_crcs=self._check_crcs,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=REBALANCE_S * 1000,
            metadata_max_age_ms=_METADATA_MAX_AGE_MS,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            max_partition_fetch_bytes=_FETCH_BYTES,
            **self._properties,
        )
        with _translated_errors(f"connecting to {self._servers}"):
            await self._consumer.start()

    async def stop(self) -> None:
        """Leave the group."""
        if self._consumer is not None:
            await self._consumer.stop()

    def subscribe(self, topics: Collection[str]) -> None:
        """Read these topics from now on, and no others."""
        self._consumer.subscribe(list(topics), listener=self._listener)

    def assigned(self) -> Collection[Place]:
        """The partitions that the group has given to this member."""
        return [(tp.topic, tp.partition) for tp in self._consumer.assignment()]

    def seek(self, place: Place, offset: int) -> bool:
        """Read on from there; False: the partition is not assigned any more."""
        try:
            self._consumer.seek(TopicPartition(*place), offset)
        except IllegalStateError:
            return False
        return True

    async def fetch(
        self, places: Collection[Place], max_records: int
    ) -> Mapping[Place, Sequence[InboundRecord]]:
        """Committed records of these partitions, in order; nothing after a short wait.

        Without partitions it only shows the group that this member is alive.

        Raises:
            UnavailableError: nothing can be read; every partition has to be sought again, because
                records may have been passed over.
        """
        wanted = [TopicPartition(*place) for place in places]
        with _translated_errors("fetching"):
            try:
                found = await self._consumer.getmany(
                    *wanted, timeout_ms=_FETCH_WAIT_MS, max_records=max_records
                )
            except NoOffsetForPartitionError:
                # A partition that was not sought yet: nothing of it was read. It comes at once.
                await asyncio.sleep(_FETCH_WAIT_MS / 1000)
                return {}
        return {
            (tp.topic, tp.partition): [
                InboundRecord(r.topic, r.partition, r.offset, r.key, r.value, r.headers)
                for r in records
            ]
            for tp, records in found.items()
        }

    async def position(self, place: Place) -> int | None:
        """Behind what was fetched, aborted records and transaction markers included.

        None when the partition is not assigned any more, or not sought since.
        """
        try:
            async with asyncio.timeout(_POSITION_S):
                position = await self._consumer.position(TopicPartition(*place))
        except (IllegalStateError, TimeoutError):
            return None
        return int(position)


class _Rebalances(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    async def on_partitions_revoked(self, revoked: object) -> None:  # noqa: ARG002 - always all
        await self._listener.revoked()

    async def on_partitions_assigned(self, assigned: object) -> None:  # noqa: ARG002 - asked for when needed
        self._listener.assigned()


@contextmanager
def _translated_errors(doing: str) -> Iterator[None]:
    try:
        yield
    except (TopicAuthorizationFailedError, GroupAuthorizationFailedError) as e:
        what = f"Kafka: {doing}: {type(e).__name__}: {e}"
        raise UnavailableError(
            what, "give the principal the right to read; it goes on by itself"
        ) from e
    except KafkaError as e:
        what = f"Kafka: {doing}: {type(e).__name__}: {e}"
        raise UnavailableError(what, "check that the brokers are up; it goes on by itself") from e


def client_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's properties about who we are, as this client wants them; others do not matter.

    Raises:
        ConfigError: one of them has no counterpart, or names a file that is not there.
    """
    refused = [
        name
        for name in properties
        if name.startswith(("ssl.", "sasl.")) and name not in _PLAIN and name not in _TLS
    ]
    if refused:
        raise ConfigError(
            f"kafka.properties: {', '.join(sorted(refused))}: projections cannot follow this",
            f"they know {', '.join(sorted({*_PLAIN, *_TLS}))}",
        )
    made = {_PLAIN[k][0]: _PLAIN[k][1](v) for k, v in properties.items() if k in _PLAIN}
    if "SSL" in made.get("security_protocol", ""):
        try:
            made["ssl_context"] = _tls(properties)
        except OSError as e:
            raise ConfigError(
                f"kafka.properties: a file of ssl.* cannot be used: {e}", "correct its path"
            ) from e
    return {"client_id": "bridge", **made}


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
        context.check_hostname = False
    certificate = properties.get("ssl.certificate.location")
    if certificate is not None:
        context.load_cert_chain(
            certificate, properties.get("ssl.key.location"), properties.get("ssl.key.password")
        )
    return context
