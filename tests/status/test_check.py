"""Check finds what would stop a relay, before one is started."""

import socket
import time
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from bridge.status.broker_checks import broker_problems
from tests.status.shop import Shop

_SOUND = {
    "transaction.partition.verification.enable": "true",
    "transaction.max.timeout.ms": "900000",
}


def checks(shop: Shop, code: int, *options: str) -> list[dict[str, Any]]:
    answer = shop.bridge("check", "--json", *options)
    assert answer.code == code, answer
    assert set(answer.json) == {"checks"}
    found = answer.json["checks"]
    assert all(set(one) == {"level", "about", "what", "hint"} for one in found)
    return list(found)


def of_level(level: str, found: list[dict[str, Any]]) -> list[str]:
    return [one["what"] for one in found if one["level"] == level]


def make_topic(shop: Shop, name: str, partitions: int = 2, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": shop.bootstrap_servers})
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(10)


def refused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert isinstance(port, int)
        return port


def test_configuration_alone_needs_no_server(bare_shop: Shop) -> None:
    found = checks(bare_shop, 0)
    assert {one["level"] for one in found} == {"ok"}
    assert any("ordering snapshot" in one["what"] for one in found)
    assert "postgres@" not in str(found)
    bare_shop.configure(journal={"url": "sqlite:////nowhere/file.db"})
    assert any("ordering sequence" in one["what"] for one in checks(bare_shop, 0))


def test_topic_names_that_meet_are_found_in_the_configuration(bare_shop: Shop) -> None:
    mapping = {"a": "shop.x", "b": "shop_x", "c": "same", "d": "same", "e": "unused"}
    bare_shop.configure(topics={"map": mapping, "exclude": ["e"]})
    found = checks(bare_shop, 3)
    assert "shop.x and shop_x" in of_level("error", found)[0]
    shared, unused = of_level("warning", found)
    assert "'c', 'd' share topic same" in shared
    assert "'e'" in unused


def test_everything_in_order(shop: Shop) -> None:
    assert of_level("error", checks(shop, 0, "--connect")) == []
    shop.publish(2)
    found = checks(shop, 0, "--connect")
    assert of_level("warning", found) == []
    said = "\n".join(of_level("ok", found))
    for part in ("prepared", "the one that the cursor names", "cursor topic", f"{shop.app}.red"):
        assert part in said
    assert "rights to create topics" in of_level("note", found)[0]
    assert "ok       kafka:" in shop.bridge("check", "--connect").out


def test_writes_nothing(shop: Shop) -> None:
    with shop.connect() as conn:
        shop.append(conn, "p", 1)
    checks(shop, 0, "--connect")
    assert shop.bridge("status", "--json").code == 0
    with shop.connect() as conn:
        assert conn.execute("SELECT 1 FROM bridge_state WHERE key = 'witness'").fetchall() == []
    names = AdminClient({"bootstrap.servers": shop.bootstrap_servers}).list_topics().topics
    assert not [name for name in names if name.startswith(shop.app)]


def test_a_missing_installation(bare_shop: Shop) -> None:
    found = checks(bare_shop, 3, "--connect")
    errors = of_level("error", found)
    assert any("bridge_events does not exist" in error for error in errors)
    assert any("run `bridge init`" in (one["hint"] or "") for one in found)


def test_missing_rights(shop: Shop) -> None:
    role = f"weak_{shop.app.replace('-', '_')}"
    shop.execute(f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON bridge_events TO {role}")
    try:
        shop.configure(journal={"url": shop.url.replace("postgres@", f"{role}@")})
        [error] = of_level("error", checks(shop, 3, "--connect"))
        assert f"role {role} lacks SELECT, INSERT, UPDATE on public.bridge_state" in error
    finally:
        shop.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.mark.parametrize("command", ["check --connect", "status"])
def test_an_unreachable_database(shop: Shop, command: str) -> None:
    shop.configure(journal={"url": f"postgresql://me@127.0.0.1:{refused_port()}/shop"})
    started = time.monotonic()
    answer = shop.bridge(*command.split())
    assert (answer.code, time.monotonic() - started < 15) == (4, True), answer
    assert "connecting to postgresql://me@127.0.0.1" in answer.out


@pytest.mark.parametrize("command", ["check --connect", "status", "cursors show", "tail red"])
def test_an_unreachable_broker(shop: Shop, command: str) -> None:
    away = Shop(shop.folder, shop.app, shop.url, f"127.0.0.1:{refused_port()}", shop.capsys)
    away.configure()
    started = time.monotonic()
    answer = away.bridge(*command.split())
    assert (answer.code, time.monotonic() - started < 15) == (4, True), answer
    assert "Kafka" in answer.out + answer.err


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, None),
        ({"transaction.partition.verification.enable": None}, "older than Kafka 3.6"),
        ({"transaction.partition.verification.enable": "false"}, "enable=false"),
        ({"transaction.max.timeout.ms": "14999"}, "15000 is needed"),
        ({"transaction.max.timeout.ms": "15000"}, None),
    ],
)
def test_brokers_that_cannot_keep_the_promise(
    changed: dict[str, str | None], problem: str | None
) -> None:
    settings = {k: v for k, v in {**_SOUND, **changed}.items() if v is not None}
    found = list(broker_problems("1", settings))
    assert [one.level for one in found] == ([] if problem is None else ["error"])
    assert problem is None or problem in found[0].what


def test_topics_made_by_somebody_else(shop: Shop) -> None:
    tags = ["old", "squeezed", "small", "compact"]
    with shop.connect() as conn:
        shop.append(conn, "p", 1, tags)
    make_topic(shop, f"{shop.app}.old", retention_ms="604800000")
    make_topic(shop, f"{shop.app}.squeezed", message_timestamp_after_max_ms="1000")
    make_topic(shop, f"{shop.app}.small", max_message_bytes="5000", retention_ms="-1")
    make_topic(shop, f"{shop.app}.compact", cleanup_policy="compact")
    make_topic(shop, f"{shop.app}--orders--cursors", partitions=3)
    found = checks(shop, 3, "--connect")
    errors, warnings = of_level("error", found), of_level("warning", found)
    assert any(f"{shop.app}.old: an event waits" in e and "retention.ms" in e for e in errors)
    assert any(f"{shop.app}.compact is compacted" in e for e in errors)
    assert any("cleanup.policy=delete" in e for e in errors)
    assert any("has 3 partitions, expected 1" in e for e in errors)
    assert any("small has max.message.bytes=5000" in w for w in warnings)
    limit = "squeezed has message.timestamp.after.max.ms=1000"
    assert any(limit in what for what in warnings) or any("squeezed: an event" in e for e in errors)


def test_partitions_that_were_added(shop: Shop) -> None:
    shop.publish(1)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap_servers})
    topic = f"{shop.app}.red"
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(10)
    assert (
        "has 5 partitions, the cursor knows 2" in of_level("error", checks(shop, 3, "--connect"))[0]
    )


def test_tags_whose_topics_collide_or_are_too_many(shop: Shop) -> None:
    with shop.connect() as conn:
        shop.append(conn, "p", 1, ["a.b", "a_b", "c"])
    shop.configure(topics={"max_topics": 2})
    collision, many = of_level("error", checks(shop, 3, "--connect"))
    assert f"{shop.app}.a.b and {shop.app}.a_b differ only" in collision
    assert "need 3 topics, topics.max_topics is 2" in many


def test_a_tag_topic_in_use_without_a_cursor(shop: Shop) -> None:
    shop.publish(1)
    moved = Shop(shop.folder, shop.app, shop.url, shop.bootstrap_servers, shop.capsys)
    moved.configure(topics={"name": "{app}.{tag}"})
    text = moved.config.read_text().replace("orders:", "elsewhere:")
    moved.config.write_text(text)
    assert "there is no cursor" in of_level("error", checks(moved, 3, "--connect"))[0]
