"""What the relay knows of its tag topics: created when first needed, compared ever after."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from bridge.core.cursor import TopicIdentity
from bridge.envelope.naming import TopicNames
from bridge.envelope.records import TopicFacts
from bridge.errors import OperatorError, SetupError
from bridge.kafka.topic_identity import require_same, require_untouched

__all__ = ["TopicAdmin", "TopicCatalog"]


class TopicAdmin(Protocol):
    """The port to the brokers' topics; raises errors of :mod:`bridge.errors`."""

    def ensure(self, names: Iterable[str]) -> Mapping[str, TopicFacts]:
        """Facts of the topics; missing ones are created first."""

    def facts(self, names: Iterable[str]) -> Mapping[str, TopicFacts]:
        """Facts of those topics that exist."""

    def existing(self) -> Sequence[str]:
        """Names of all topics."""

    def first_with_records(self, names: Iterable[str]) -> str | None:
        """A topic among these that holds, or once held, a record."""


class TopicCatalog:
    """Facts of the tag topics of one journal.

    Args:
        names: which topics the journal's tags go to.
        internal_prefix: what names of internal topics begin with.
        max_topics: how many tag topics there may be; events of a tag beyond it cannot be sent.
    """

    def __init__(
        self, admin: TopicAdmin, names: TopicNames, internal_prefix: str, max_topics: int
    ) -> None:
        self._admin = admin
        self._names = names
        self._internal_prefix = internal_prefix
        self._max_topics = max_topics
        self._facts: dict[str, TopicFacts] = {}

    def usable(self, wanted: Iterable[str]) -> Mapping[str, TopicFacts | str]:
        """Facts of each topic, or why it cannot be used."""
        missing = sorted(set(wanted) - self._facts.keys())
        if not missing:
            return self._facts
        room = max(0, self._max_topics - len(self._facts))
        refused: dict[str, TopicFacts | str] = {
            name: f"topic {name} would exceed topics.max_topics={self._max_topics}"
            for name in missing[room:]
        }
        for name in missing[:room]:
            try:
                self._facts.update(self._admin.ensure([name]))
            except (SetupError, OperatorError) as e:
                refused[name] = f"topic {name} cannot be made: {e.what}"
        return {**self._facts, **refused} if refused else self._facts

    def forget(self) -> None:
        """Learn all facts anew: a topic may have vanished before a cursor ever named it."""
        self._facts.clear()

    def identities(self, names: Iterable[str]) -> list[TopicIdentity]:
        """Identities of known topics."""
        found = (self._facts.get(name) for name in names)
        return [TopicIdentity(f.name, f.topic_id, f.partitions) for f in found if f is not None]

    def check(self, stored: Sequence[TopicIdentity], *, fresh: bool) -> Mapping[str, TopicFacts]:
        """Compare topics with what they were at first use, and learn their limits anew.

        The result holds the facts of those topics, internal ones included.

        Raises:
            OperatorError: a topic was deleted, made anew or got partitions; or, for a relay without
                a cursor, a tag topic holds records already.
        """
        found = self._admin.facts([t.name for t in stored])
        for topic in stored:
            require_same(topic, found.get(topic.name))
        inside = self._internal_prefix
        self._facts.update({n: f for n, f in found.items() if not n.startswith(inside)})
        if fresh:
            require_untouched(self._admin, self._names, self._internal_prefix)
        return found
