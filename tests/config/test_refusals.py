"""What is refused, one line each: the change to a sound file, and what the error must say."""

from pathlib import Path

import pytest

from bridge.config.properties import REFUSED
from bridge.errors import ConfigError
from tests.config.build import SOUND, load_text

JOURNAL = "url: postgresql://bridge@localhost/shop"
SERVERS = "bootstrap_servers: localhost:9092"
LAYOUT = "layout: actor-ts"
END = "layout: actor-ts\n"

# (what is replaced, replacement, parts of the message)
CASES = [
    ("app: shop", "app: Shop", ["app (bridge.yaml line 1)", "no name"]),
    ("app: shop", "app: 5", ["app (bridge.yaml line 1)", "expected text", "number 5"]),
    ("app: shop", "app: a--b", ["app", "no name"]),
    ("app: shop", "app: " + "a" * 64, ["app", "at most 63"]),
    ("app: shop\n", "", ["app: is required"]),
    ("app: shop", "app: shop\napp: shop", ["line 2", "duplicate key, first on line 1"]),
    ("app: shop", "app: !secret shop", ["app", "YAML tags"]),
    ("app: shop", "app: *other", ["line 1", "not YAML"]),
    ("app: shop", "app: [", ["not YAML"]),
    ("kafka:", "kafk:", ["kafk (bridge.yaml line 2)", "did you mean kafka?", "kafka: is required"]),
    ("bootstrap_servers", "bootstrap.server", ["unknown key", "did you mean bootstrap_servers?"]),
    (SERVERS, "bootstrap_servers: 'a b'", ["kafka.bootstrap_servers", "host:port"]),
    (SERVERS, "bootstrap_servers: h:70000", ["kafka.bootstrap_servers", "host:port"]),
    ("  orders:", "  Orders_1:", ["journals.Orders_1", "no name"]),
    (LAYOUT, "layout: actor", ["journals.orders.layout", "'bridge' or 'actor-ts'", "got actor"]),
    (f"    {LAYOUT}\n", "", ["journals.orders.layout", "is required"]),
    (LAYOUT, "layout: actor-ts\n    tabel: outbox", ["tabel", "line 8", "did you mean table?"]),
    (LAYOUT, "layout: actor-ts\n    table: ''", ["journals.orders.table", "SQL name"]),
    (LAYOUT, "layout: actor-ts\n    schema: " + "ä" * 32, ["journals.orders.schema", "63 bytes"]),
    (LAYOUT, "layout: bridge\n    install: outbox", ["journals.orders.install", "absent"]),
    (LAYOUT, "layout: actor-ts\n    ordering: sequence", ["orders.ordering", "SQLite"]),
    (LAYOUT, "layout: actor-ts\n    durability: weak", ["orders.durability", "flushed, or"]),
    (LAYOUT, "layout: actor-ts\n    durability: {standbys: 0}", ["orders.durability", "1 to 100"]),
    (LAYOUT, "layout: actor-ts\n    source: a b", ["orders.source", "URI reference"]),
    (LAYOUT, "layout: actor-ts\n    on_inversion: go", ["orders.on_inversion", "'stop' or 'late'"]),
    (LAYOUT, "layout: actor-ts\n    url_file: /x", ["journals.orders", "both are given"]),
    (f"    {JOURNAL}\n", "", ["journals.orders", "neither is given"]),
    (JOURNAL, "url_file: /no/such", ["url_file", "No such file"]),
    (JOURNAL, "url: mysql://h/db", ["journals.orders.url", "postgresql://"]),
    (JOURNAL, "url: postgresql://h", ["journals.orders.url", "names no database"]),
    (JOURNAL, "url: postgresql://u:p@ss@h/db", ["journals.orders.url", "percent-encode"]),
    (JOURNAL, "url: 'postgresql://u:p/w@h/db'", ["journals.orders.url", "percent-encode"]),
    (JOURNAL, "url: 'sqlite://'", ["journals.orders.url", "must name a file"]),
    (JOURNAL, "url: sqlite:///f\n    install: columns", ["orders.install", "outbox"]),
    (JOURNAL, "url: sqlite:///f\n    ordering: snapshot", ["orders.ordering", "sequence"]),
    (JOURNAL, "url: sqlite:///f\n    schema: s", ["orders.schema", "no schemas"]),
    (JOURNAL, "url: sqlite:///f\n    durability: {standbys: 1}", ["durability", "no standbys"]),
    (END, END + "tag_topics: {}", ["tag_topics", "unknown key"]),
    (END, END + "topic: {}", ["topic (bridge.yaml line 8)", "did you mean topics?"]),
    (END, END + "poll_interval_ms: 5", ["did you mean relay.poll_interval_ms?"]),
    (END, END + "relay:", ["relay", "expected a mapping of keys, got nothing"]),
    (
        END,
        END + 'relay: {batch_max_records: "lots"}',
        ["batch_max_records", "whole number", "text"],
    ),
    (END, END + 'relay: {batch_max_records: "500"}', ["batch_max_records", "without quotes"]),
    (END, END + "relay: {batch_max_bytes: 10.5}", ["batch_max_bytes", "number 10.5"]),
    (END, END + "relay: {batch_max_bytes: 1_000_000}", ["batch_max_bytes", "whole number"]),
    (END, END + "relay: {batch_max_bytes: 1023}", ["batch_max_bytes", "at least 1024, got 1023"]),
    (END, END + "relay: {poll_interval_ms: 0}", ["poll_interval_ms", "at least 1, got 0"]),
    (END, END + "relay: {poll_interval_ms: true}", ["poll_interval_ms", "got true"]),
    (END, END + "relay: {transaction_max_ms: 10001}", ["transaction_max_ms", "at most 10000"]),
    (END, END + "relay: {on_poison: skip}", ["on_poison", "expected 'park' or 'stop'"]),
    (END, END + "topics: {partitions: 08}", ["topics.partitions", "leading zeros"]),
    (END, END + "topics: {replication_factor: 0}", ["replication_factor", "-1"]),
    (END, END + "topics: {include: orders}", ["topics.include", "expected a list, got text"]),
    (END, END + "topics: {include: [1e3]}", ["topics.include.0", "expected text"]),
    (END, END + "topics: {name: shop.all}", ["topics.name", "{tag} exactly once"]),
    (END, END + "topics: {name: '{app}.{tga}'}", ["topics.name", "unknown placeholder {tga}"]),
    (END, END + "topics: {name: '{app}--{tag}'}", ["topics.name", "'--'"]),
    (END, END + "topics: {name: '{app}/{tag}'}", ["topics.name", "may hold only"]),
    (END, END + "topics: {name: '{app}.{tag'}", ["topics.name", "may hold only"]),
    (END, END + "topics: {name: '__{tag}'}", ["topics.name", "'__'"]),
    (END, END + f"topics: {{name: '{'x' * 151}{{tag}}'}}", ["topics.name", "more than 150"]),
    (END, END + "topics: {map: {a: shop--x}}", ["topics.map.a", "internal"]),
    (END, END + "topics: {map: {a: 'b c'}}", ["topics.map.a", "no topic name"]),
    (END, END + "topics: {map: {'': b}}", ["topics.map", "empty tag"]),
    (END, END + "topics: {all: shop--all}", ["topics.all", "internal"]),
    (END, END + "topics: {all: ..}", ["topics.all", "no topic name"]),
    (END, END + "topics: {all: __consumer_offsets}", ["topics.all", "'__'"]),
    (END, END + "topics: {all: t, map: {a: t}}", ["topics.all", "twice"]),
]


@pytest.mark.parametrize(("old", "new", "parts"), CASES, ids=[new[-50:] for _, new, _ in CASES])
def test_wrong_configuration_is_refused_with_place_and_remedy(
    tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    assert SOUND.count(old) >= 1
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, SOUND.replace(old, new, 1))
    for part in parts:
        assert part in str(caught.value)


SECOND = "  {name}:\n    url: sqlite:///f\n    layout: bridge\n"

MERGING = [
    ("other", "{app}.{tag}", "", "must hold {journal}"),
    ("orders-eu", "{journal}-{tag}", "", "could meet in one topic"),
    ("orders-eu", "{journal}{tag}", "", "could meet in one topic"),
    ("other", "{journal}.{tag}", ", map: {a: t}", "would merge"),
    ("other", "{journal}.{tag}", ", all: t", "would merge"),
    ("orders-eu", "{journal}.{tag}", "", None),
    ("eu-orders", "{tag}.{journal}", "", None),
    ("other", "{journal}-{tag}", "", None),
]


@pytest.mark.parametrize(("name", "template", "more", "part"), MERGING)
def test_two_journals_never_share_a_topic(
    tmp_path: Path, name: str, template: str, more: str, part: str | None
) -> None:
    text = SOUND + SECOND.format(name=name) + f"topics: {{name: '{template}'{more}}}\n"
    if part is None:
        assert set(load_text(tmp_path, text).journals) == {"orders", name}
    else:
        with pytest.raises(ConfigError, match=part.replace("{", r"\{")):
            load_text(tmp_path, text)


def with_property(name: str, value: str) -> str:
    return SOUND.replace("kafka:\n", f"kafka:\n  properties: {{{name}: {value}}}\n")


@pytest.mark.parametrize(
    "name", [*REFUSED, "error_cb", "stats_cb", "test.mock.num.brokers", "test.mock.broker.rtt"]
)
def test_properties_that_safety_rests_on_are_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"kafka.properties.{name} .* may not be set: .+"):
        load_text(tmp_path, with_property(name, "5"))


PASSED_ON = [
    ("security.protocol", "sasl_ssl"),
    ("sasl.password", "'p,w\"$'"),
    ("ssl.ca.location", "/no/such/file"),
    ("client.id", "c"),
    ("queue.buffering.max.messages", "100"),
    ("queue.buffering.max.kbytes", "2048"),
    ("debug", "msg"),
    ("log_level", "7"),
    ("statistics.interval.ms", "1000"),
    ("retry.backoff.ms", "1"),
    ("compression.type", "zstd"),
]


@pytest.mark.parametrize(("name", "value"), PASSED_ON)
def test_other_properties_pass(tmp_path: Path, name: str, value: str) -> None:
    config = load_text(tmp_path, with_property(name, value))
    assert config.kafka.properties == {name: value.strip("'")}


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("securty.protocol", "ssl", "did you mean security.protocol?"),
        ("security.protocol", "hunter2", "a value that librdkafka does not accept"),
        ("socket.timeout.ms", "null", "expected text"),
    ],
)
def test_misspelled_properties_are_found_without_a_broker(
    tmp_path: Path, name: str, value: str, part: str
) -> None:
    with pytest.raises(ConfigError, match=f"kafka.properties.{name}") as caught:
        load_text(tmp_path, with_property(name, value))
    assert part in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    text = SOUND.replace("app: shop", "app: 1").replace("actor-ts", "x") + "relay: {a: 1}\n"
    with pytest.raises(ConfigError, match="has 5 problems") as caught:
        load_text(tmp_path, text, {"BRIDGE_NOPE": "1", "BRIDGE_TOPICS__PARTITIONS": "0"})
    keys = ["app", "journals.orders.layout", "relay.a", "BRIDGE_NOPE", "topics.partitions"]
    assert all(key in str(caught.value) for key in keys)
