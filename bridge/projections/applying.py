"""Records → effects: in order, each event once, what fails is tried again and then named."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from bridge.core.attempts import Attempts
from bridge.core.backoff import Backoff
from bridge.core.pace import Pace
from bridge.core.projected import Claim, EntityKey, Seen
from bridge.envelope.inbound import Event, InboundRecord, MalformedRecordError, decode
from bridge.envelope.subscription import Subscription
from bridge.errors import BridgeError, OperatorError
from bridge.projections.handlers import caller, cause_of
from bridge.projections.projection import Projection
from bridge.readmodels.base import ClaimLostError

__all__ = ["Applier"]

_log = structlog.get_logger("bridge.projection")

RETRY_PAUSE = Backoff(first_ms=100, max_ms=5_000)


@dataclass(frozen=True, slots=True)
class _Item:
    """A record that has an effect.

    Attributes:
        index: of the record in its batch.
        event: None when the record cannot be understood.
        seen: what is remembered of it.
        problem: why it cannot be understood.
    """

    index: int
    event: Event | None
    seen: Seen | None
    problem: MalformedRecordError | None


@dataclass(frozen=True, slots=True)
class _Failure:
    """What kept a batch from being applied.

    Attributes:
        index: of the record whose event failed; None: the database refused the batch as a whole.
        gone: the connection is broken, and with it the claim in doubt.
    """

    index: int | None
    error: BaseException
    gone: bool = False


@dataclass(frozen=True, slots=True)
class _Progress:
    """What a batch has come to: so many of its records are applied."""

    claim: Claim
    applied: int
    failure: _Failure | None


class _HandlerError(Exception):
    def __init__(self, item: _Item, error: BaseException) -> None:
        super().__init__()
        self.item = item
        self.error = error


class Applier:
    """Applies the records of claimed partitions.

    Args:
        pause: waits for so many ms; True when the partition is to be given up meanwhile.
    """

    def __init__(
        self,
        projection: Projection,
        subscription: Subscription,
        pause: Callable[[float], Awaitable[bool]],
    ) -> None:
        self._projection = projection
        self._subscription = subscription
        self._store = projection.store
        self._call = caller(projection)
        self._pause = pause
        self._attempts = Attempts(projection.attempts, RETRY_PAUSE)
        self._pace = Pace(projection.batch_max_records)

    async def apply(self, claim: Claim, records: Sequence[InboundRecord]) -> Claim | None:
        """Apply records in order; the moved claim, None when it is void or was given up.

        Raises:
            OperatorError: an event has failed too often; everything before it is applied.
        """
        rest, alone = list(records), 0
        while rest:
            if await self._pause(0):
                return None
            chunk = rest[: alone or self._pace.events]
            alone = 0
            try:
                progress = await self._take(claim, chunk)
            except ClaimLostError:
                _log.warning("claim_lost", **self._where(chunk[0]))
                return None
            claim, rest, failure = progress.claim, rest[progress.applied :], progress.failure
            if failure is None:
                continue
            if failure.index is None and len(chunk) > 1:
                alone = 1  # one by one, until the event that the database refuses is found
                continue
            index = failure.index or 0
            delay_ms = self._failed(chunk[index], failure)
            if index > progress.applied:
                alone = index - progress.applied  # what precedes it is applied first, by itself
                continue
            if delay_ms is None:
                raise self._given_up(chunk[index], failure) from failure.error
            if await self._pause(delay_ms) or failure.gone:
                return None
            alone = 1
        return claim

    async def skip(self, claim: Claim, to: int) -> Claim | None:
        """Move the offset past what has no effect; None when the claim is void."""
        try:
            async with self._store.advance(claim, to, ()):
                pass
        except ClaimLostError:
            return None
        return replace(claim, next_offset=to)

    async def _take(self, claim: Claim, chunk: Sequence[InboundRecord]) -> _Progress:
        """Apply a batch, or the part of it before the first failure."""
        started = time.monotonic()
        items = await self._sift(claim, chunk)
        if self._projection.delivery == "exactly_once":
            progress = await self._together(claim, chunk, items)
        else:
            progress = await self._offset_after(claim, chunk, items)
        self._pace.took(len(chunk), time.monotonic() - started)
        return progress

    async def _together(
        self, claim: Claim, chunk: Sequence[InboundRecord], items: Sequence[_Item]
    ) -> _Progress:
        """Effects and offset in one transaction."""
        to = chunk[-1].offset + 1
        try:
            async with self._store.advance(claim, to, _seen(items)) as tx:
                for item in items:
                    await self._handle(item, tx)
        except _HandlerError as e:
            gone = self._store.is_gone(e.error)
            return _Progress(claim, 0, _Failure(e.item.index, e.error, gone))
        except (BridgeError, ClaimLostError):
            raise
        except Exception as e:  # noqa: BLE001 - the database's own: a constraint checked at the end
            return _Progress(claim, 0, _Failure(None, e))
        return _Progress(replace(claim, next_offset=to), len(chunk), None)

    async def _offset_after(
        self, claim: Claim, chunk: Sequence[InboundRecord], items: Sequence[_Item]
    ) -> _Progress:
        """Effects one by one, then the offset behind those that succeeded."""
        applied, failure = len(chunk), None
        for item in items:
            try:
                await self._handle(item, None)
            except _HandlerError as e:
                applied, failure = item.index, _Failure(item.index, e.error)
                break
        if applied == 0:
            return _Progress(claim, 0, failure)
        to = chunk[applied - 1].offset + 1
        done = [item for item in items if item.index < applied]
        async with self._store.advance(claim, to, _seen(done)):
            pass  # the effects are elsewhere
        return _Progress(replace(claim, next_offset=to), applied, failure)

    async def _handle(self, item: _Item, tx: Any) -> None:
        if item.event is None:
            raise _HandlerError(item, item.problem or MalformedRecordError())
        try:
            await self._call(item.event, tx)
        except Exception as e:
            raise _HandlerError(item, e) from e

    async def _sift(self, claim: Claim, chunk: Sequence[InboundRecord]) -> list[_Item]:
        """The records that have an effect: taken from this topic, and not applied before."""
        items = [item for i, record in enumerate(chunk) if (item := self._item(i, record))]
        entities = {item.seen.key for item in items if item.seen is not None}
        if not entities:
            return items
        known = await self._store.known(claim.key, entities)
        wanted = [item for item in items if item.seen is None or known.is_new(item.seen)]
        if len(wanted) < len(items):
            _log.warning(
                "repetitions_dropped", number=len(items) - len(wanted), **self._where(chunk[0])
            )
        return wanted

    def _item(self, index: int, record: InboundRecord) -> _Item | None:
        try:
            event = decode(record, self._subscription.journal_of(record.topic))
        except MalformedRecordError as e:
            return _Item(index, None, None, e)
        if not self._subscription.takes(event):
            return None
        key = EntityKey(event.source, event.persistence_id.encode())
        return _Item(index, event, Seen(key, event.sequence_nr, event.late, event.offset), None)

    def _failed(self, record: InboundRecord, failure: _Failure) -> float | None:
        _log.warning(
            "event_failed",
            error=cause_of(failure.error),
            failed=_name(record),
            **self._where(record),
        )
        return self._attempts.failed(record.topic, record.partition, record.offset)

    def _given_up(self, record: InboundRecord, failure: _Failure) -> OperatorError:
        malformed = isinstance(failure.error, MalformedRecordError)
        why = str(failure.error) if malformed else cause_of(failure.error)
        return OperatorError(
            f"projection {self._projection.name}: {_name(record)} (topic {record.topic}, partition "
            f"{record.partition}, offset {record.offset}) could not be applied: {why}",
            "nothing behind it is applied; correct the handler or the read model, start again",
        )

    def _where(self, record: InboundRecord) -> dict[str, Any]:
        return {
            "projection": self._projection.name,
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
        }


def _seen(items: Sequence[_Item]) -> list[Seen]:
    return [item.seen for item in items if item.seen is not None]


def _name(record: InboundRecord) -> str:
    """The event of a record as well as it can be told."""
    number = dict(record.headers).get("ce_sequence")
    if record.key is None or number is None:
        return "a record that is no event"
    entity, digits = record.key.decode(errors="replace"), number.decode(errors="replace")
    return f"event {entity!r}/{digits.lstrip('0')}"
