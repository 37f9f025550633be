"""The consumer of projections gets the same security as every other client."""

import pytest

from bridge.errors import ConfigError
from bridge.kafka.consuming import GroupConsumer, client_options
from bridge.kafka.settings import KafkaSettings


def test_properties_about_who_we_are_are_translated() -> None:
    options = client_options(
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "me",
            "sasl.password": "secret",
            "compression.type": "lz4",
            "ssl.endpoint.identification.algorithm": "none",
        }
    )
    context = options.pop("ssl_context")
    assert not context.check_hostname
    assert options == {
        "client_id": "bridge",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }


@pytest.mark.parametrize(
    "properties",
    [
        {"sasl.oauthbearer.config": "principal=x"},
        {"security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"},
    ],
)
def test_what_cannot_be_followed_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        GroupConsumer(KafkaSettings("localhost:9092", properties), "group")
