"""Topics that exist already: will they take and keep what the relay sends?"""

from collections.abc import Iterator, Mapping

from bridge.core.cursor import TopicIdentity
from bridge.envelope.records import TopicFacts
from bridge.errors import OperatorError
from bridge.journals.health import Lag
from bridge.kafka.topic_identity import require_same
from bridge.status.checked import Checked, trouble

__all__ = [
    "check_compacted_topic",
    "check_dead_letter_topic",
    "check_known_topics",
    "check_tag_topic",
]

_DEFAULT_MESSAGE_BYTES = 1_048_588
_DAY_MS = 86_400_000
_FAR_MS = 100 * 365 * _DAY_MS
"""A limit beyond this is as good as none."""


def check_compacted_topic(
    about: str, kind: str, facts: TopicFacts, settings: Mapping[str, str], partitions: int
) -> Iterator[Checked]:
    """A compacted topic as the relay would have made it.

    Args:
        kind: what each of its records tells: ``cursor`` or ``parked entity``.
    """
    policy = settings.get("cleanup.policy", "unknown")
    if policy != "compact":
        what = f"{kind} topic {facts.name} has cleanup.policy={policy}: each {kind} can be deleted"
        yield Checked("error", about, what, "set cleanup.policy=compact, and nothing else")
    if facts.partitions != partitions:
        what = f"{kind} topic {facts.name} has {facts.partitions} partitions, expected {partitions}"
        yield Checked("error", about, what, f"make it anew with {partitions}, while it is empty")
    if policy == "compact" and facts.partitions == partitions:
        yield Checked("ok", about, f"{kind} topic {facts.name}")


def check_dead_letter_topic(
    about: str, facts: TopicFacts, settings: Mapping[str, str]
) -> Iterator[Checked]:
    """The topic of dead letters; the journal keeps the events, so nothing is lost with a letter."""
    topic, policy = f"dead-letter topic {facts.name}", settings.get("cleanup.policy", "unknown")
    if policy != "delete":
        what = f"{topic} has cleanup.policy={policy}: only an entity's last letter would be kept"
        yield Checked("warning", about, what, "set cleanup.policy=delete")
    elif facts.retention_ms >= 0:
        what = f"{topic} has retention.ms={facts.retention_ms}: `bridge dlq show` may find nothing"
        yield Checked("warning", about, what, "set retention.ms=-1")
    else:
        yield Checked("ok", about, topic)


def check_known_topics(
    about: str, stored: tuple[TopicIdentity, ...], found: Mapping[str, TopicFacts]
) -> Iterator[Checked]:
    """The topics that the cursor knows are still the same."""
    for topic in stored:
        try:
            require_same(topic, found.get(topic.name))
        except OperatorError as e:
            yield trouble(about, e)


def check_tag_topic(
    about: str, facts: TopicFacts, settings: Mapping[str, str], waiting: Lag | None, now_ms: int
) -> Iterator[Checked]:
    """A tag topic that may have been made by somebody else.

    Args:
        waiting: the rows that are to be published; None when that is not known.
    """
    findings = list(_findings(about, facts, settings, waiting, now_ms))
    yield from findings
    if not findings:
        yield Checked("ok", about, f"topic {facts.name}, {facts.partitions} partitions")


def _findings(
    about: str, facts: TopicFacts, settings: Mapping[str, str], waiting: Lag | None, now_ms: int
) -> Iterator[Checked]:
    topic = f"topic {facts.name}"
    if "compact" in settings.get("cleanup.policy", ""):
        what = f"{topic} is compacted: all but the last event of each entity would be lost"
        yield Checked("error", about, what, "set cleanup.policy=delete")
    if facts.max_message_bytes < _DEFAULT_MESSAGE_BYTES:
        what = f"{topic} has max.message.bytes={facts.max_message_bytes}"
        yield Checked("warning", about, what, "the relay stops at an event that is larger")
    if settings.get("retention.bytes", "-1") != "-1":
        what = f"{topic} has retention.bytes={settings['retention.bytes']}: events get lost by size"
        yield Checked("warning", about, what, "set retention.bytes=-1 if it is to be rebuilt from")
    yield from _times(about, facts, waiting, now_ms)


def _times(about: str, facts: TopicFacts, waiting: Lag | None, now_ms: int) -> Iterator[Checked]:
    """Limits on record times, which are the events' own."""
    bounds = (waiting.oldest_ms, waiting.newest_ms) if waiting else ()
    refusals = [r for ms in bounds if ms is not None and (r := facts.refusal(ms, now_ms))]
    for refusal in refusals:
        what = f"topic {facts.name}: an event waits that it cannot take, {refusal}"
        yield Checked("error", about, what, "raise the topic's limit")
    if refusals or facts.append_time:
        return
    limits = {
        "retention.ms": facts.retention_ms,
        "message.timestamp.before.max.ms": facts.timestamp_before_max_ms,
        "message.timestamp.after.max.ms": facts.timestamp_after_max_ms,
    }
    for name, limit in limits.items():
        if 0 <= limit < _FAR_MS:
            what = f"topic {facts.name} has {name}={limit}: the relay stops at an event beyond it"
            yield Checked("warning", about, what, _UNLIMITED[name])


_UNLIMITED = {
    "retention.ms": "set it to -1 if the topic is to be rebuilt from",
    "message.timestamp.before.max.ms": "set it to its maximum, 9223372036854775807",
    "message.timestamp.after.max.ms": "set it to its maximum, 9223372036854775807",
}
