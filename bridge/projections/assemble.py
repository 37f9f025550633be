"""Configuration and projection → worker: every part wired, nothing started."""

from bridge.config import Config
from bridge.envelope.subscription import Subscription
from bridge.errors import ConfigError
from bridge.kafka.brokers import Brokers, brokers_of
from bridge.kafka.consuming import GroupConsumer
from bridge.kafka.from_config import topic_names
from bridge.kafka.partition_logs import PartitionLogs
from bridge.projections.claiming import Claims
from bridge.projections.projection import Projection
from bridge.projections.worker import Worker

__all__ = ["assemble_worker", "subscription_of"]


def assemble_worker(
    projection: Projection, config: Config, brokers: Brokers | None = None
) -> Worker:
    """Make the worker of a projection.

    Args:
        brokers: in place of the configured ones.
    """
    brokers = brokers or brokers_of(config)
    topics, logs = brokers.topics, PartitionLogs(brokers.settings)
    group = f"{config.app}--projection--{projection.name}"
    return Worker(
        projection,
        subscription_of(projection, config),
        GroupConsumer(brokers.settings, group, check_crcs=brokers.check_crcs),
        topics,
        Claims(projection, topics, logs),
    )


def subscription_of(projection: Projection, config: Config) -> Subscription:
    """The topics of a projection's tags in all journals.

    Raises:
        ConfigError: a tag has no topic.
    """
    names = {journal: topic_names(config, journal) for journal in config.journals}
    subscription = Subscription(projection.tags, names)
    if subscription.without_topic:
        raise ConfigError(
            f"projection {projection.name}: tag {subscription.without_topic[0]!r} is not relayed",
            "see topics.include and topics.exclude",
        )
    return subscription
