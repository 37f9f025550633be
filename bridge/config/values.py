"""Types of single configuration values, with their named bounds."""

import re
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

__all__ = [
    "BATCH_BYTES_MAX",
    "BATCH_BYTES_MIN",
    "BATCH_RECORDS_MAX",
    "IDENTIFIER_BYTES_MAX",
    "NAME_LENGTH_MAX",
    "PARTITIONS_MAX",
    "POLL_INTERVAL_MS_MAX",
    "REPLICATION_FACTOR_MAX",
    "STANDBYS_MAX",
    "TOPICS_MAX",
    "TRANSACTION_MS_MAX",
    "TRANSACTION_PARTITIONS_MAX",
    "BatchBytes",
    "BatchRecords",
    "BootstrapServers",
    "Durability",
    "Identifier",
    "Name",
    "Partitions",
    "PollIntervalMs",
    "ReplicationFactor",
    "SourceUri",
    "Standbys",
    "TopicCount",
    "TransactionMs",
    "TransactionPartitions",
    "problem",
]

# Two names and the longest internal suffix must stay within Kafka's 249 characters of a topic.
NAME_LENGTH_MAX: Final = 63
# PostgreSQL cuts longer identifiers off, which would make two tables one.
IDENTIFIER_BYTES_MAX: Final = 63
PARTITIONS_MAX: Final = 10_000
# The protocol carries it as a signed 16-bit number.
REPLICATION_FACTOR_MAX: Final = 32_767
TOPICS_MAX: Final = 100_000
# librdkafka's own queue holds 100,000 messages by default.
BATCH_RECORDS_MAX: Final = 100_000
BATCH_BYTES_MIN: Final = 1_024
# Two batches are in memory at once: one is read while the other commits.
BATCH_BYTES_MAX: Final = 268_435_456
# The broker aborts a transaction after 15 s; the commit itself needs a part of that.
TRANSACTION_MS_MAX: Final = 10_000
TRANSACTION_PARTITIONS_MAX: Final = 10_000
POLL_INTERVAL_MS_MAX: Final = 60_000
STANDBYS_MAX: Final = 100

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SERVER: Final = re.compile(
    r"([A-Za-z0-9_]+://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?"
)
_URI_REFERENCE: Final = re.compile(r"[\x21-\x7e]{1,1024}")


def problem(message: str) -> PydanticCustomError:
    """Make a validation error whose `message` is shown as it is; it must hold no secret."""
    # Braces are placeholders to pydantic and cannot be escaped there, so the text is an argument.
    return PydanticCustomError("bridge", "{message}", {"message": message})


def _whole(value: object) -> object:
    """Take 1.048576e+06 for 1048576: Helm and others print large whole numbers that way."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _name(value: str) -> str:
    if len(value) > NAME_LENGTH_MAX or not _NAME.fullmatch(value):
        raise problem(
            f"{value!r} is no name: groups of lower-case letters and digits, joined by single "
            f"hyphens, at most {NAME_LENGTH_MAX} characters"
        )
    return value


def _identifier(value: str) -> str:
    size = len(value.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= IDENTIFIER_BYTES_MAX or not value.isprintable() or '"' in value:
        raise problem(
            f"{value!r} is no usable SQL name: 1 to {IDENTIFIER_BYTES_MAX} bytes, printable, "
            "without double quotes"
        )
    return value


def _servers(value: str) -> str:
    for server in value.split(","):
        match = _SERVER.fullmatch(server.strip())
        if match is None or not 1 <= int(match["port"] or 9092) <= 65_535:
            raise problem("expected host:port, several separated by commas")
    return value


def _replication(value: int) -> int:
    if value == 0:
        raise problem("must be -1 (the broker's default) or at least 1, got 0")
    return value


def _source(value: str) -> str:
    if not _URI_REFERENCE.fullmatch(value):
        raise problem("must be a URI reference: 1 to 1024 visible ASCII characters")
    return value


def _durability(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    """Say in one sentence what a union would report as one error for each of its members."""
    try:
        return handler(value)
    except ValidationError:
        raise problem(
            f"expected flushed, or {{standbys: N}} with N from 1 to {STANDBYS_MAX}"
        ) from None


class Standbys(BaseModel):
    """Rows count as durable when so many standbys have flushed them, besides the primary."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    standbys: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=STANDBYS_MAX)]


Name = Annotated[str, AfterValidator(_name)]
Identifier = Annotated[str, AfterValidator(_identifier)]
BootstrapServers = Annotated[str, AfterValidator(_servers)]
SourceUri = Annotated[str, AfterValidator(_source)]
Durability = Annotated[Literal["flushed"] | Standbys, WrapValidator(_durability)]

_Whole = BeforeValidator(_whole)
Partitions = Annotated[int, _Whole, Field(ge=1, le=PARTITIONS_MAX)]
ReplicationFactor = Annotated[
    int, _Whole, Field(ge=-1, le=REPLICATION_FACTOR_MAX), AfterValidator(_replication)
]
TopicCount = Annotated[int, _Whole, Field(ge=1, le=TOPICS_MAX)]
BatchRecords = Annotated[int, _Whole, Field(ge=1, le=BATCH_RECORDS_MAX)]
BatchBytes = Annotated[int, _Whole, Field(ge=BATCH_BYTES_MIN, le=BATCH_BYTES_MAX)]
TransactionMs = Annotated[int, _Whole, Field(ge=1, le=TRANSACTION_MS_MAX)]
TransactionPartitions = Annotated[int, _Whole, Field(ge=1, le=TRANSACTION_PARTITIONS_MAX)]
PollIntervalMs = Annotated[int, _Whole, Field(ge=1, le=POLL_INTERVAL_MS_MAX)]
