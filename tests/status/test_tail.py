"""Tail prints what any `read_committed` consumer would get, safely."""

import json

from confluent_kafka import Producer

from bridge.kafka.tail import TailedRecord
from bridge.status.records import record_json, record_text
from tests.status.shop import Shop


def test_prints_records_from_the_beginning_up_to_the_limit(shop: Shop) -> None:
    shop.publish(3)
    lines = shop.bridge("tail", "red", "--from-beginning", "--limit", "2", "--json").out
    found = [json.loads(line) for line in lines.splitlines()]
    assert [record["ce_id"] for record in found] == ["p/1", "p/2"]
    first = found[0]
    assert (first["topic"], first["key"], first["value"]) == (f"{shop.app}.red", "p", '{"nr":1}')
    assert (first["offset"], first["size"], first["ce_type"]) == (0, 8, "happened")
    assert first["ce_time"].startswith("2023-11-14T")
    text = shop.bridge("tail", "red", "--from-beginning", "--limit", "1").out
    assert "p/1" in text
    assert '{"nr":1}' in text


def test_shows_committed_records_only(shop: Shop) -> None:
    shop.publish(1)
    producer = Producer(
        {"bootstrap.servers": shop.bootstrap_servers, "transactional.id": f"{shop.app}-stranger"}
    )
    producer.init_transactions(10)
    for value, end in (("aborted", producer.abort_transaction), ("kept", None)):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(f"{shop.app}.red", value, partition=partition)
        producer.flush(10)
        (end or producer.commit_transaction)(10)
    lines = shop.bridge("tail", "red", "--from-beginning", "--limit", "3", "--json").out
    values = sorted(json.loads(line)["value"] for line in lines.splitlines())
    assert values == ["kept", "kept", '{"nr":1}']


def test_an_unknown_topic_is_said_at_once(shop: Shop) -> None:
    answer = shop.bridge("tail", "nothing")
    assert answer.code == 3
    assert f"{shop.app}.nothing" in answer.err
    shop.configure(topics={"exclude": ["secret*"]})
    answer = shop.bridge("tail", "secrets")
    assert answer.code == 2
    assert "topics.exclude" in answer.err


def record(value: bytes | None, key: bytes = b"p") -> TailedRecord:
    return TailedRecord("t", 1, 2, 3, key, value, {"ce_id": b"p/\x1b[2J"})


def test_foreign_text_cannot_command_the_terminal() -> None:
    text = record_text(record("\x1b]0;owned\x07\u202eabc\u009b2J\nnext".encode(), key=b"\x9b\x00"))
    assert text.isprintable()
    assert "next" in text
    assert json.dumps(record_json(record("\u009b\u202e".encode()))).isascii()


def test_bytes_that_are_no_text_come_as_base64() -> None:
    found = record_json(record(b"\xff\x00", key=b"\xfe"))
    assert (found["value_base64"], found["key_base64"], found["size"]) == ("/wA=", "/g==", 2)
    assert "value" not in found
    empty = record_json(record(None))
    assert (empty["value"], empty["size"]) == (None, None)
    assert "null" in record_text(record(None))


def test_a_long_payload_is_cut() -> None:
    text = record_text(record("ä".encode() * 1000))
    assert text.count("ä") == 120
    assert text.endswith("…")
    assert "2000 B" in text
