"""Journals of layout actor-ts: history, compaction, rows that only the outbox still holds."""

import pytest

from tests.verify.shop import Shop, ours

INSTALLS = pytest.mark.parametrize("install", ["outbox", "columns"])


def prepare(shop: Shop, install: str, start: str = "beginning") -> None:
    """Two rows of history, then the installation, then two more rows."""
    shop.configure({"layout": "actor-ts", "install": install, "start": start})
    shop.append("a", 1, 2, ["red", "blue"])
    shop.init()
    shop.append("a", 3, 4, ["red"])
    shop.append("untagged", 1, 1, [])


@INSTALLS
def test_history_and_new_rows_agree(foreign_shop: Shop, install: str) -> None:
    prepare(foreign_shop, install)
    assert foreign_shop.differences(code=0) == {"not_published_yet": 6}
    foreign_shop.relay()
    report = foreign_shop.verify(code=0)
    assert (report["rows"], report["records"], report["examples"]) == (5, 6, {})


@INSTALLS
def test_history_is_before_start_now(foreign_shop: Shop, install: str) -> None:
    prepare(foreign_shop, install, start="now")
    foreign_shop.relay()
    foreign_shop.append("a", 5, 5, ["red"])
    foreign_shop.relay()
    assert foreign_shop.differences(code=0) == {"before_start": 6}


@INSTALLS
def test_a_compacted_entity_is_recognised_by_its_meta_row(foreign_shop: Shop, install: str) -> None:
    prepare(foreign_shop, install)
    foreign_shop.relay()
    foreign_shop.sql("DELETE FROM events WHERE persistence_id = 'a'")
    foreign_shop.sql("INSERT INTO events_meta VALUES ('a', 4)")
    assert foreign_shop.differences(code=0) == {"compacted": 6}
    foreign_shop.produce(b"a", ours("a", 5))
    assert foreign_shop.differences(code=1) == {"compacted": 6, "unexpected": 1}


@INSTALLS
def test_a_row_that_was_written_past_the_trigger_is_missing(
    foreign_shop: Shop, install: str
) -> None:
    prepare(foreign_shop, install)
    foreign_shop.relay()
    foreign_shop.sql("ALTER TABLE events DISABLE TRIGGER ALL")
    foreign_shop.append("a", 5, 5, ["red"])
    report = foreign_shop.verify(code=1)
    assert (report["missing"], report["examples"]["missing"][0]["sequence_nr"]) == (1, 5)


def test_a_row_that_only_the_outbox_holds_is_pending_then_compacted(foreign_shop: Shop) -> None:
    prepare(foreign_shop, "outbox")
    foreign_shop.relay()
    foreign_shop.append("b", 1, 2)
    foreign_shop.sql("DELETE FROM events WHERE persistence_id = 'b'")
    assert foreign_shop.differences(code=0) == {"not_published_yet": 2}
    foreign_shop.relay()
    assert foreign_shop.differences(code=0) == {"compacted": 2}
