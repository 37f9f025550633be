"""What an administrator does to topics, rightly or wrongly."""

from collections.abc import Mapping

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.waiting import wait_until

__all__ = ["Administrator"]

_TIMEOUT_S = 20.0


class Administrator:
    """An administrator of one cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def create_topic(self, name: str, config: Mapping[str, str]) -> None:
        """Make a topic with one partition; returns when it is there."""
        new = NewTopic(name, num_partitions=1, replication_factor=1, config=dict(config))
        self._admin.create_topics([new])[name].result(_TIMEOUT_S)
        wait_until(lambda: name in self._admin.list_topics(timeout=_TIMEOUT_S).topics)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._admin.delete_topics([name], operation_timeout=_TIMEOUT_S)[name].result(_TIMEOUT_S)

    def set_topic(self, name: str, key: str, value: str) -> None:
        """Change a setting of a topic."""
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(_TIMEOUT_S)

    def withdraw_writing(self, topic: str) -> None:
        """Nobody may write to the topic any more; all else stays allowed."""
        for future in self._admin.create_acls(_rights(topic)).values():
            future.result(_TIMEOUT_S)

    def give_writing_back(self, topic: str) -> None:
        """End a withdrawal."""
        filters = [_filter(right) for right in _rights(topic)]
        for future in self._admin.delete_acls(filters).values():
            future.result(_TIMEOUT_S)


def _rights(topic: str) -> list[AclBinding]:
    """With any list at all, what no list allows is denied."""
    return [
        _right(topic, AclOperation.ALL, AclPermissionType.ALLOW),
        _right(topic, AclOperation.WRITE, AclPermissionType.DENY),
    ]


def _right(topic: str, operation: AclOperation, permission: AclPermissionType) -> AclBinding:
    literal = ResourcePatternType.LITERAL
    return AclBinding(
        ResourceType.TOPIC, topic, literal, "User:ANONYMOUS", "*", operation, permission
    )


def _filter(right: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        right.restype,
        right.name,
        right.resource_pattern_type,
        right.principal,
        right.host,
        right.operation,
        right.permission_type,
    )
