"""Avro single-object encoding: each value names its schema version, and is read strictly."""

import io
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import fingerprint, to_parsing_canonical_form

import bridge
from bridge.errors import OperatorError

__all__ = ["AvroObject", "Record"]

Record = dict[str, Any]
"""A decoded Avro record: its shape is the schema's."""

_MARKER = b"\xc3\x01"
_HEADER_LENGTH = 10


class AvroObject:
    """Values of one kind.

    Args:
        what: the kind, as errors name it.
        files: schema files, the newest first; a later schema joins in front, the earlier ones stay,
            for their values must be read.
    """

    def __init__(self, what: str, *files: str) -> None:
        self._what = what
        self._files = files

    def encode(self, record: Record) -> bytes:
        """Bytes of a record in the newest schema."""
        header, schema = next(iter(self._schemas.items()))
        out = io.BytesIO()
        out.write(header)
        schemaless_writer(out, schema, record, strict=True)
        return out.getvalue()

    def decode(self, data: bytes) -> Any:
        """Read a record of any known schema.

        Raises:
            OperatorError: the bytes are of a schema this version does not know.
            EOFError, ValueError, IndexError, KeyError, TypeError: they are damaged.
        """
        header = data[:_HEADER_LENGTH]
        schema = self._schemas.get(header)
        if schema is None:
            raise OperatorError(
                f"a {self._what} record begins with {header.hex()}: no {self._what} schema that "
                "this version knows",
                "run the version of bridge that wrote it, or a later one",
            )
        body = io.BytesIO(data[_HEADER_LENGTH:])
        record = schemaless_reader(body, schema, None)
        if body.tell() < len(data) - _HEADER_LENGTH:
            raise ValueError("bytes are left over behind it")
        return record

    def unreadable(self, data: bytes, error: Exception) -> OperatorError:
        """What to say of a damaged record."""
        return OperatorError(
            f"a {self._what} record of {len(data)} bytes cannot be read ({error})",
            f"somebody else wrote to the {self._what} topic, or it is damaged; restore the record",
        )

    @cached_property
    def _schemas(self) -> dict[bytes, Any]:
        """Single-object header → parsed schema, newest first."""
        return dict(_load(name) for name in self._files)


def _load(name: str) -> tuple[bytes, Any]:
    package = Path(bridge.__file__).parent
    installed = package / "schemas" / name
    path = installed if installed.exists() else package.parent / "schemas" / name
    schema = json.loads(path.read_text(encoding="utf-8"))
    print_ = fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")
    return _MARKER + bytes.fromhex(print_), parse_schema(schema)
