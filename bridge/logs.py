"""Set-up of logging: structlog on top of the standard library, everything to stderr, redacted.

Library loggers come out in the same form, so librdkafka can be given
``logging.getLogger("bridge.kafka")``.
"""

import logging
import sys
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from bridge.redact import MASK, is_secret_name, redact

__all__ = ["configure_logging", "redact_event"]

_LOGGER: Final = "bridge"


def configure_logging(level: str, stream: TextIO | None = None) -> None:
    """Send all log lines to `stream`: JSON, or for a terminal coloured text.

    Args:
        level: of this package's loggers: debug, info, warning or error. Other libraries report
            warnings and errors only, because their debug output may hold payloads.
        stream: standard error when None.
    """
    target = sys.stderr if stream is None else stream
    shared = _shared_processors()
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                redact_event,
                _renderer(terminal=target.isatty()),
            ],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(_LOGGER).setLevel(level.upper())
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _renderer(*, terminal: bool) -> Processor:
    if not terminal:
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    # The plain formatter: the rich one prints local variables, which may hold secrets.
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)


def redact_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Structlog processor: mask secrets in every value of a log line, however deeply nested."""
    return {key: _clean(str(key), value) for key, value in event.items()}


def _clean(key: str, value: object) -> object:
    if is_secret_name(key):
        return MASK
    match value:
        case None | bool() | int() | float():
            return value
        case dict():
            return {k: _clean(str(k), v) for k, v in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_clean("", item) for item in value]
        case _:
            # Anything else would be rendered by its repr, behind the redaction.
            return redact(value if isinstance(value, str) else repr(value))
