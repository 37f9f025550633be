"""Log lines: form, levels, and nothing secret in them."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from bridge.logs import configure_logging


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("bridge").setLevel(logging.NOTSET)
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_no_secret_in_any_form_of_line(stream: type[io.StringIO]) -> None:
    out = stream()
    configure_logging("info", out)
    log = structlog.stdlib.get_logger("bridge.test")
    try:
        raise RuntimeError("postgresql://u:s3cr3t@h/db")
    except RuntimeError as error:
        log.exception("failed", error=error, password="s3cr3t")
        log.warning("deep", settings={"a": [{"sasl.password": "s3cr3t"}, b"password=s3cr3t"]})
        logging.getLogger("bridge.kafka").warning("url %s", "kafka://u:s3cr3t@h")
    text = out.getvalue()
    assert "s3cr3t" not in text
    assert "kafka://u:***@h" in text
    assert "Traceback" in text


def test_lines_of_libraries_are_json_too() -> None:
    out = io.StringIO()
    configure_logging("info", out)
    logging.getLogger("bridge.kafka").warning("broker %s down", 7)
    line = json.loads(out.getvalue())
    assert (line["event"], line["level"]) == ("broker 7 down", "warning")
    assert line["logger"] == "bridge.kafka"
    assert line["timestamp"].endswith("Z")


def test_debug_is_ours_alone() -> None:
    out = io.StringIO()
    configure_logging("debug", out)
    structlog.stdlib.get_logger("bridge.relay").debug("ours")
    logging.getLogger("sqlalchemy").debug("theirs")
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == ["ours"]
