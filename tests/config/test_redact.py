"""Which texts lose their secrets, and which stay as they are."""

import pytest

from bridge.redact import redact

SECRETS = [
    ("postgresql://u:s3cr3t@h/db", "postgresql://u:***@h/db"),
    ("at postgresql://u:s3@/cr3t@h:5432/db now", "at postgresql://u:***@h:5432/db now"),
    ("redis://:s3cr3t@h", "redis://:***@h"),
    ("host=h password=s3c,r3t dbname=d", "host=h password=*** dbname=d"),
    ("password='s3 \\' cr3t' x", "password=*** x"),
    ("{'sasl.password': 's3cr3t', 'a': 1}", "{'sasl.password': ***, 'a': 1}"),
    ('{"ssl.key.password": "s3\\"cr3t"}', '{"ssl.key.password": ***}'),
    ("sasl.password: s3cr3t", "sasl.password: ***"),
    ("API_KEY=s3cr3t", "API_KEY=***"),
    ("-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----!", "***!"),
    ("-----BEGIN RSA PRIVATE KEY-----\ns3cr3t", "***"),
]  # fmt: skip

HARMLESS = [
    "postgresql://bridge@localhost:5432/shop",
    "http://host:8080/path",
    "sasl.username=bob",
    "kafka.properties.sasl.password (bridge.yaml line 3): expected text",
    "key=order-1 sequence_nr=5",
]


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_secrets_are_masked(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_is_kept(text: str) -> None:
    assert redact(text) == text
