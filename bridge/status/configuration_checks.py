"""What the configuration says, and where its topic names meet."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from bridge.config import Config
from bridge.envelope.naming import TopicNames, broker_form
from bridge.kafka.from_config import topic_names
from bridge.status.checked import Checked

__all__ = ["ABOUT", "check_configuration", "colliding"]

ABOUT = "configuration"


def check_configuration(config: Config, journals: Iterable[str]) -> Iterator[Checked]:
    """Say what will be used; nothing is connected."""
    topics = config.topics
    yield Checked("ok", ABOUT, f"app {config.app}, brokers {config.kafka.bootstrap_servers}")
    for name in journals:
        journal = config.journals[name]
        install = f", install {journal.install}" if journal.install else ""
        what = (
            f"journal {name}: {journal.database}, layout {journal.layout}{install}, "
            f"ordering {journal.strategy}, start {journal.start}"
        )
        yield Checked("ok", ABOUT, what)
        yield from _check_map(config, topic_names(config, name))
    complete = f", all events to {topics.all}" if topics.all else ""
    yield Checked("ok", ABOUT, f"topics {topics.name}, {topics.partitions} partitions{complete}")


def colliding(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of different topic names that a broker cannot hold at once."""
    ordered = sorted(set(names), key=lambda name: (broker_form(name), name))
    groups = [list(group) for _, group in groupby(ordered, key=broker_form)]
    return [(group[0], other) for group in groups for other in group[1:]]


def _check_map(config: Config, names: TopicNames) -> Iterator[Checked]:
    mapping = config.topics.map
    named = [*mapping.values(), *([config.topics.all] if config.topics.all else [])]
    for one, other in colliding(named):
        what = f"topics {one} and {other} differ only in '.' and '_': brokers refuse that"
        yield Checked("error", ABOUT, what, "rename one of them under topics.map or topics.all")
    for topic, tags in _by_topic(mapping).items():
        if len(tags) > 1:
            what = f"tags {', '.join(map(repr, tags))} share topic {topic}"
            yield Checked("warning", ABOUT, what, "give each a topic of its own, unless meant so")
    for tag in mapping:
        if names.of_tag(tag) is None:
            what = f"topics.map names tag {tag!r}, which is not relayed"
            yield Checked("warning", ABOUT, what, "see topics.include and topics.exclude")


def _by_topic(mapping: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tag, topic in mapping.items():
        found.setdefault(topic, []).append(tag)
    return found
