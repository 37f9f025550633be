"""What is accepted, and what it means."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from bridge.config import load_config, shown_values
from bridge.errors import ConfigError
from tests.config.build import SOUND, load_text


def test_defaults_follow_the_layout(tmp_path: Path) -> None:
    foreign = load_text(tmp_path, SOUND).journals["orders"]
    own = load_text(tmp_path, SOUND.replace("actor-ts", "bridge")).journals["orders"]
    assert (foreign.table, foreign.install, foreign.source) == ("events", "outbox", "/shop/orders")
    assert (own.table, own.install, own.source) == ("bridge_events", None, "/shop/orders")
    assert (foreign.schema_name, foreign.standbys, foreign.on_inversion) == (None, 0, "stop")


def test_given_values_win_over_those_of_the_layout(tmp_path: Path) -> None:
    more = "    table: t\n    schema: s\n    install: columns\n    source: urn:x\n"
    journal = load_text(tmp_path, f"{SOUND}{more}    durability: {{standbys: 2}}\n").journals[
        "orders"
    ]
    assert (journal.table, journal.schema_name, journal.install) == ("t", "s", "columns")
    assert (journal.source, journal.standbys) == ("urn:x", 2)


@pytest.mark.parametrize("text", ["1048576", "1.048576e+06", "1048576.0", "+1048576"])
def test_large_whole_numbers_may_be_written_with_exponent(tmp_path: Path, text: str) -> None:
    config = load_text(tmp_path, f"{SOUND}relay: {{batch_max_bytes: {text}}}\n")
    assert config.relay.batch_max_bytes == 1_048_576
    assert type(config.relay.batch_max_bytes) is int


def test_texts_stay_texts(tmp_path: Path) -> None:
    include = "topics: {include: [on, 'null', '1e3', 2024-01-01, no]}\n"
    properties = "kafka:\n  properties: {client.id: 007, sasl.password: 123456789012}\n"
    config = load_text(tmp_path, SOUND.replace("kafka:\n", properties) + include)
    assert config.topics.include == ("on", "null", "1e3", "2024-01-01", "no")
    assert config.kafka.properties == {"client.id": "007", "sasl.password": "123456789012"}


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_the_address_may_come_from_a_file_that_is_read_anew(tmp_path: Path, ending: str) -> None:
    secret = tmp_path / "url"
    secret.write_bytes(f"postgresql://u:one@h/db{ending}".encode())
    text = SOUND.replace("url: postgresql://bridge@localhost/shop", f"url_file: {secret}")
    journal = load_text(tmp_path, text).journals["orders"]
    assert journal.read_url() == "postgresql://u:one@h/db"
    secret.write_text("postgresql://u:two@h/db")
    assert journal.read_url() == "postgresql://u:two@h/db"
    secret.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        journal.read_url()


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("postgresql://u:p%40ss@h:5433/db?sslmode=require", "postgresql"),
        ("postgresql+psycopg:///db?host=/var/run", "postgresql"),
        ("sqlite:///relative.db", "sqlite"),
        ("sqlite:////absolute.db", "sqlite"),
    ],
)
def test_the_kind_of_database_comes_from_the_address(
    tmp_path: Path, url: str, database: str
) -> None:
    text = SOUND.replace("postgresql://bridge@localhost/shop", f"'{url}'")
    assert load_text(tmp_path, text).journals["orders"].database == database


def test_nothing_can_be_changed_afterwards(tmp_path: Path) -> None:
    config = load_text(tmp_path, SOUND)
    with pytest.raises(ValidationError):
        config.relay.poll_interval_ms = 5


# variable, its value, the key concerned, what is expected there
ORDERS = ("journals", "orders")
STANDBYS = (*ORDERS, "durability", "standbys")
PROPERTIES = ("kafka", "properties")
OVERRIDES = [
    ("BRIDGE_APP", "123", ("app",), "123"),
    ("bridge_app", "x", ("app",), "x"),
    ("BRIDGE_RELAY__POLL_INTERVAL_MS", "7", ("relay", "poll_interval_ms"), 7),
    ("BRIDGE_RELAY", '{"poll_interval_ms": 7}', ("relay", "poll_interval_ms"), 7),
    ("BRIDGE_TOPICS__INCLUDE", '["a", "b"]', ("topics", "include"), ["a", "b"]),
    ("BRIDGE_TOPICS__MAP", '{"A": "t"}', ("topics", "map", "A"), "t"),
    ("BRIDGE_TOPICS__ALL", "null", ("topics", "all"), None),
    ("BRIDGE_TOPICS__ALL", "007", ("topics", "all"), "007"),
    ("BRIDGE_JOURNALS__ORDERS__START", "now", (*ORDERS, "start"), "now"),
    ("BRIDGE_JOURNALS__ORDERS__SCHEMA", "1", (*ORDERS, "schema"), "1"),
    (
        "BRIDGE_JOURNALS__ORDERS__DURABILITY",
        "{standbys: 2}",
        (*ORDERS, "durability", "standbys"),
        2,
    ),
    ("BRIDGE_JOURNALS__ORDERS__DURABILITY__STANDBYS", "2", STANDBYS, 2),
    ("BRIDGE_KAFKA__PROPERTIES__CLIENT_ID", "0,1", (*PROPERTIES, "client.id"), "0,1"),
    ("BRIDGE_KAFKA__PROPERTIES__LOG_LEVEL", "7", (*PROPERTIES, "log_level"), "7"),
]


@pytest.mark.parametrize(("name", "value", "path", "expected"), OVERRIDES)
def test_environment_overrides_the_file(
    tmp_path: Path, name: str, value: str, path: tuple[str, ...], expected: object
) -> None:
    shown = {v.path: v for v in shown_values(load_text(tmp_path, SOUND, {name: value}))}
    assert shown[path].value == expected
    assert shown[path].origin == f"environment {name}"


def test_everything_may_come_from_the_environment() -> None:
    environ = {
        "BRIDGE_APP": "shop",
        "BRIDGE_KAFKA__BOOTSTRAP_SERVERS": "h:1,[::1]:2",
        "BRIDGE_JOURNALS__ORDERS_EU__URL": "sqlite:///f",
        "BRIDGE_JOURNALS__ORDERS_EU__LAYOUT": "bridge",
    }
    assert list(load_config(None, environ).journals) == ["orders-eu"]


FOREIGN = [
    ("BRIDGE_RELAY__POLL_INTERVAL", "did you mean BRIDGE_RELAY__POLL_INTERVAL_MS?"),
    ("BRIDGE_JOURNALS__ORDERS__URI", "did you mean BRIDGE_JOURNALS__ORDERS__URL?"),
    ("BRIDGE_RELAY__PORT", "unknown environment variable"),
    ("BRIDGE_TOPICS__MAP__A", "unknown environment variable"),
    ("BRIDGE_", "unknown environment variable"),
]


@pytest.mark.parametrize(("name", "part"), FOREIGN)
def test_unknown_variables_are_refused(tmp_path: Path, name: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, SOUND, {name: "s3cr3t"})
    assert name in str(caught.value)
    assert part in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "BRIDGE_CONFIG", "BRIDGE_CACHE", "BRIDGE_TEST_REQUIRE", "BRIDGE_SERVICE_HOST",
        "BRIDGE_PORT", "BRIDGE_RELAY_PORT_8080_TCP_ADDR", "BRIDGE_SERVICE_PORT_HTTP", "BRIDGES",
    ],
)  # fmt: skip
def test_variables_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    assert load_text(tmp_path, SOUND, {name: "x"}) == load_text(tmp_path, SOUND)


def test_a_key_given_by_two_variables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is also given by BRIDGE_APP"):
        load_text(tmp_path, SOUND, {"BRIDGE_APP": "a", "bridge_app": "b"})


def test_origins_are_kept(tmp_path: Path) -> None:
    origins = load_text(tmp_path, SOUND, {"BRIDGE_APP": "a"}).origins
    assert origins["app",] == "environment BRIDGE_APP"
    assert origins["journals", "orders", "layout"] == "bridge.yaml line 7"
    assert ("relay", "poll_interval_ms") not in origins


def test_no_secret_in_any_repr(tmp_path: Path) -> None:
    text = SOUND.replace("bridge@localhost", "bridge:s3cr3t@localhost").replace(
        "kafka:\n", "kafka:\n  properties: {sasl.password: s3cr3t}\n"
    )
    config = load_text(tmp_path, text)
    assert "s3cr3t" not in repr(config) + str(config) + repr(config.journals) + repr(config.kafka)


def test_no_secret_in_errors_or_what_they_chain(tmp_path: Path) -> None:
    text = SOUND.replace("url: postgresql://bridge@localhost/shop", "url: [s3cr3t]")
    bad = text + "relay: s3cr3t\ns3cr: s3cr3t\ntopics: {partitions: s3cr3t}\n"
    for broken in (bad, "app: *s3cr3t", "app: [s3cr3t", "- s3cr3t", "app: @s3cr3t"):
        with pytest.raises(ConfigError) as caught:
            load_text(tmp_path, broken)
        error: BaseException | None = caught.value
        while error is not None:
            assert "s3cr3t" not in str(error) + repr(error)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
