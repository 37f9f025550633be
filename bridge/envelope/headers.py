"""CloudEvents 1.0 headers in Kafka's binary mode. All values are text: clients decode them as such.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md
"""

import json
from datetime import date

from bridge.core.rows import JournalRow

__all__ = ["LATE_HEADER", "Header", "HeaderFactory"]

Header = tuple[str, str]

LATE_HEADER: Header = ("bridge_late", "true")
"""Marks a record that breaks the order of its entity: see the delivery guarantees."""

DEFAULT_EVENT_TYPE = "bridge.event"
"""``ce_type`` of rows whose layout knows no type; CloudEvents requires one."""

_DAY_MS = 86_400_000
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MIN_MS = (date.min.toordinal() - _EPOCH_ORDINAL) * _DAY_MS
_MAX_MS = (date.max.toordinal() - _EPOCH_ORDINAL + 1) * _DAY_MS


class HeaderFactory:
    """Makes the headers of rows of one journal; repeated parts are computed once."""

    def __init__(self, source: str) -> None:
        self._source: Header = ("ce_source", source)
        self._tags: dict[tuple[str, ...], Header] = {}
        self._days: dict[int, str] = {}

    def headers(self, row: JournalRow) -> list[Header]:
        """Headers of a row's records, the same in each of its topics."""
        pid = row.persistence_id
        made = [
            _SPEC_VERSION,
            ("ce_id", f"{pid}/{row.sequence_nr}"),
            self._source,
            ("ce_type", row.event_type or DEFAULT_EVENT_TYPE),
            ("ce_subject", pid),
            self._time(row.timestamp_ms),
            ("ce_sequence", f"{row.sequence_nr:020d}"),
            ("ce_partitionkey", pid),
            self._tags.get(row.tags) or self._tag_header(row.tags),
        ]
        if row.content_type:
            made.append(("content-type", row.content_type))
        if row.metadata:
            made.extend(row.metadata)
        return made

    def _tag_header(self, tags: tuple[str, ...]) -> Header:
        if len(self._tags) >= 10_000:  # a bound for tags that never repeat
            self._tags.clear()
        header = self._tags[tags] = ("ce_tags", json.dumps(tags, ensure_ascii=False))
        return header

    def _time(self, timestamp_ms: int) -> Header:
        if not _MIN_MS <= timestamp_ms < _MAX_MS:
            # RFC 3339 has years of four digits: ce_time is optional, the moment is not lost.
            return ("bridge_timestamp_ms", str(timestamp_ms))
        day, rest = divmod(timestamp_ms, _DAY_MS)
        seconds, ms = divmod(rest, 1000)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        text = self._days.get(day) or self._day(day)
        return ("ce_time", f"{text}T{hour:02d}:{minute:02d}:{second:02d}.{ms:03d}Z")

    def _day(self, day: int) -> str:
        if len(self._days) >= 10_000:
            self._days.clear()
        text = self._days[day] = date.fromordinal(day + _EPOCH_ORDINAL).isoformat()
        return text


_SPEC_VERSION: Header = ("ce_specversion", "1.0")
