"""Are the tag topics still those that the cursor knows?"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from bridge.core.cursor import TopicIdentity
from bridge.envelope.naming import TopicNames
from bridge.envelope.records import TopicFacts
from bridge.errors import OperatorError

__all__ = ["TopicLister", "require_same", "require_untouched"]


class TopicLister(Protocol):
    """Finds topics and records in them."""

    def existing(self) -> Sequence[str]:
        """Names of all topics."""

    def first_with_records(self, names: Iterable[str]) -> str | None:
        """A topic among these that holds, or once held, a record."""


def require_untouched(admin: TopicLister, names: TopicNames, internal_prefix: str) -> None:
    """Raise OperatorError when there is no cursor and yet a tag topic holds records.

    Args:
        internal_prefix: what names of internal topics begin with.
    """
    candidates = [
        name
        for name in admin.existing()
        if names.may_be_tag_topic(name) and not name.startswith(internal_prefix)
    ]
    used = admin.first_with_records(candidates)
    if used is not None:
        raise OperatorError(
            f"topic {used} holds records, but there is no cursor that says up to where: "
            "the cursor is lost, or somebody else writes to the topic",
            "starting over would publish events twice; restore the cursor topic, or delete the "
            "tag topics to begin anew, or choose another app or topics.name",
        )


def require_same(stored: TopicIdentity, found: TopicFacts | None) -> None:
    """Raise OperatorError when a topic was deleted, made anew or got partitions.

    Args:
        stored: the topic at first use.
        found: the topic now; None when there is none of that name.
    """
    if found is None:
        raise OperatorError(
            f"topic {stored.name} (id {stored.topic_id}) was deleted",
            "its records are gone; delete the cursor topic and the other tag topics as well to "
            "publish everything anew, or restore it",
        )
    if found.topic_id != stored.topic_id:
        raise OperatorError(
            f"topic {stored.name} was deleted and made anew: its id is {found.topic_id}, the "
            f"cursor knows {stored.topic_id}",
            "its earlier records are gone; delete the cursor topic and the tag topics to publish "
            "everything anew",
        )
    if found.partitions != stored.partitions:
        raise OperatorError(
            f"topic {stored.name} has {found.partitions} partitions, the cursor knows "
            f"{stored.partitions}: entities would move to other partitions and lose their order",
            f"make the topic anew with {stored.partitions} partitions, or publish everything anew "
            "into topics under another name",
        )
