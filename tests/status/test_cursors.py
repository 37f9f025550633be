"""The last committed cursor as a command shows it."""

from tests.status.shop import Shop


def test_says_that_there_is_none(shop: Shop) -> None:
    answer = shop.bridge("cursors", "show")
    assert answer.code == 0
    assert "no cursor" in answer.out
    assert shop.bridge("cursors", "show", "--json").json == {"orders": None}


def test_shows_the_last_committed_one_with_its_offset(shop: Shop) -> None:
    shop.publish(2)
    first = shop.bridge("cursors", "show", "--json").json["orders"]
    with shop.connect() as conn:
        shop.append(conn, "p", 3)
    shop.relay()
    second = shop.bridge("cursors", "show", "--json").json["orders"]
    assert (first["rows"], second["rows"]) == (2, 3)
    assert first["offset"] < second["offset"]
    assert first["owner"] != second["owner"]
    assert second["committed_at_ms"] > first["committed_at_ms"]
    assert second["position"].startswith("snapshot ")
    text = shop.bridge("cursors", "show").out
    assert second["owner"] in text
    assert f"offset {second['offset']}" in text
    assert second["position"] in text
