"""Which topics a projection reads, and from which of them it takes an event."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridge.envelope.inbound import Event
from bridge.envelope.naming import TopicNames

__all__ = ["Subscription"]


class _Route(NamedTuple):
    journal: str
    names: TopicNames


class Subscription:
    """The topics of some tags in some journals.

    Args:
        tags: what the projection reads.
        journals: names of topics by journal.
    """

    def __init__(self, tags: Iterable[str], journals: Mapping[str, TopicNames]) -> None:
        self._tags = frozenset(tags)
        self._routes: dict[str, _Route] = {}
        self.without_topic: list[str] = []
        for journal, names in journals.items():
            for tag in sorted(self._tags):
                topic = names.of_tag(tag)
                if topic is None:
                    self.without_topic.append(tag)
                else:
                    self._routes[topic] = _Route(journal, names)

    @property
    def topics(self) -> frozenset[str]:
        """Names of all topics, whether they exist or not."""
        return frozenset(self._routes)

    def journal_of(self, topic: str) -> str:
        """The journal whose relay writes a topic."""
        return self._routes[topic].journal

    def takes(self, event: Event) -> bool:
        """Whether the event is taken from this topic: that of its first subscribed tag.

        An event with several subscribed tags is in all their topics; this needs no memory.
        """
        names = self._routes[event.topic].names
        first = next((tag for tag in event.tags if tag in self._tags), None)
        return first is not None and names.of_tag(first) == event.topic
