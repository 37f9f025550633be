"""What a comparison of a journal with its topics has found."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

__all__ = ["EXAMPLES", "Example", "Kind", "Report"]

EXAMPLES = 10
"""Examples kept of each kind: the first ones met."""


class Kind(Enum):
    """A kind of finding; `fault` tells differences from what is merely to be known."""

    MISSING = ("missing", True, "published according to the cursor, but not in the topic")
    DUPLICATED = ("duplicated", True, "further records of an event in the same topic")
    INVERTED = ("inverted", True, "behind a higher number of the entity, or in a second partition")
    UNEXPECTED = ("unexpected", True, "records that no journal row explains")
    COMPACTED = ("compacted", False, "the journal has deleted these rows since")
    NOT_PUBLISHED_YET = ("not_published_yet", False, "committed, but the relay was not there yet")
    PARKED = ("parked", False, "waiting in the dead-letter topic; see `bridge dlq list`")
    DISCARDED = ("discarded", False, "given up by an operator; see `bridge dlq list`")
    LATE = ("late", False, "marked bridge_late: known to break the order of their entity")
    BEFORE_START = ("before_start", False, "rows from before `start: now`")

    def __init__(self, key: str, fault: bool, meaning: str) -> None:
        self.key = key
        self.fault = fault
        self.meaning = meaning

    @property
    def label(self) -> str:
        """The key in words."""
        return self.key.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Example:
    """One finding.

    Attributes:
        partition, offset: None where there is no record.
        persistence_id, sequence_nr: None where a record does not tell.
        detail: what is special about it, None if the kind says all.
    """

    topic: str
    partition: int | None
    offset: int | None
    persistence_id: str | None
    sequence_nr: int | None
    detail: str | None = None

    def __str__(self) -> str:
        event = "record" if self.persistence_id is None else f"{self.persistence_id!r}"
        number = "" if self.sequence_nr is None else f"/{self.sequence_nr}"
        where = "" if self.offset is None else f"[{self.partition}]@{self.offset}"
        text = f"{event}{number} in {self.topic}{where}"
        return text if self.detail is None else f"{text}: {self.detail}"


class Report:
    """Counts and first examples. An event counts once for each topic that it belongs to.

    Attributes:
        journal: name of the journal.
        rows: rows of the journal, those without a topic included.
        records: committed records of all its topics.
    """

    def __init__(self, journal: str) -> None:
        self.journal = journal
        self.rows = 0
        self.records = 0
        self._counts: dict[Kind, int] = defaultdict(int)
        self._examples: dict[Kind, list[Example]] = defaultdict(list)

    @property
    def clean(self) -> bool:
        """True when journal and topics agree."""
        return not any(self._counts[kind] for kind in Kind if kind.fault)

    def add(self, kind: Kind, example: Example) -> None:
        """Count a finding."""
        self._counts[kind] += 1
        if len(self._examples[kind]) < EXAMPLES:
            self._examples[kind].append(example)

    def count(self, kind: Kind) -> int:
        """How many findings of a kind there are."""
        return self._counts[kind]

    def examples(self, kind: Kind) -> list[Example]:
        """The first findings of a kind."""
        return list(self._examples[kind])

    def as_dict(self) -> dict[str, Any]:
        """For JSON; a public contract."""
        return {
            "journal": self.journal,
            **{kind.key: self.count(kind) for kind in Kind},
            "rows": self.rows,
            "records": self.records,
            "examples": {
                kind.key: [asdict(e) for e in found]
                for kind in Kind
                if (found := self.examples(kind))
            },
        }
