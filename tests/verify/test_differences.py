"""Each kind of difference, made by hand behind the relay's back, is found and named."""

from bridge.cli.exits import run
from tests.verify.shop import Shop, ours


def test_a_journal_that_was_relayed_has_no_differences(shop: Shop) -> None:
    shop.append("a", 1, 5, ["red", "blue", "red"])
    shop.append("untagged", 1, 3, [])
    shop.relay()
    report = shop.verify(code=0)
    assert (report["rows"], report["records"], report["examples"]) == (8, 10, {})
    assert report["journal"] == "orders"


def test_before_the_first_relay_everything_is_yet_to_be_published(shop: Shop) -> None:
    shop.append("a", 1, 3)
    assert shop.differences(code=0) == {"not_published_yet": 3}


def test_a_row_behind_the_cursor_without_a_record_is_missing(shop: Shop) -> None:
    shop.append("a", 1, 3)
    shop.relay()
    shop.append("b", 7, 7)
    shop.sql("UPDATE bridge_events SET txid = '3' WHERE persistence_id = 'b'")
    report = shop.verify(code=1)
    assert report["missing"] == 1
    assert report["examples"]["missing"] == [
        {
            "topic": shop.topic(),
            "partition": None,
            "offset": None,
            "persistence_id": "b",
            "sequence_nr": 7,
            "detail": None,
        }
    ]


def test_a_second_record_is_duplicated_and_not_inverted_as_well(shop: Shop) -> None:
    shop.append("a", 1, 3)
    shop.relay()
    shop.produce(b"a", ours("a", 1))
    report = shop.verify(code=1)
    assert {k: report[k] for k in ("duplicated", "inverted", "unexpected")} == {
        "duplicated": 1,
        "inverted": 0,
        "unexpected": 0,
    }
    example = report["examples"]["duplicated"][0]
    assert (example["persistence_id"], example["sequence_nr"]) == ("a", 1)
    assert example["offset"] >= 3


def test_a_number_that_goes_down_is_inverted_unless_marked_late(shop: Shop) -> None:
    shop.append("a", 1, 1)
    shop.append("a", 4, 4)
    shop.relay()
    shop.append("a", 2, 3)  # not relayed: their records come from somebody else
    shop.produce(b"a", ours("a", 2))
    shop.produce(b"a", ours("a", 3, ("bridge_late", "true")))
    report = shop.verify(code=1)
    assert (report["inverted"], report["late"]) == (1, 1)
    assert report["examples"]["inverted"][0]["sequence_nr"] == 2
    assert report["examples"]["inverted"][0]["detail"] == "behind number 4"
    assert report["examples"]["late"][0]["sequence_nr"] == 3


def test_an_entity_in_a_second_partition_is_inverted_where_it_does_not_belong(shop: Shop) -> None:
    shop.append("a", 1, 2)
    shop.relay()
    home = shop.verify(code=0)
    assert home["records"] == 2
    shop.append("a", 3, 3)
    for partition in (0, 1):
        shop.produce(b"a", ours("a", 3), partition=partition)
    # One of both is in the right partition and explained, so the other one is the duplicate.
    assert shop.differences(code=1) == {"duplicated": 1}
    shop.append("b", 1, 1)
    shop.produce(b"b", ours("b", 1), partition=0)
    shop.append("b", 2, 2)
    shop.produce(b"b", ours("b", 2), partition=1)
    report = shop.verify(code=1)
    assert (report["duplicated"], report["inverted"]) == (1, 1)
    assert report["examples"]["inverted"][0]["persistence_id"] == "b"


def test_records_that_are_not_ours_are_unexpected_with_the_reason(shop: Shop) -> None:
    shop.append("a", 1, 2)
    shop.relay()
    shop.produce(b"ghost", ours("ghost", 1))
    shop.produce(b"a", [])
    shop.produce(None, ours("a", 1), partition=0)
    shop.produce(b"a", ours("b", 1))
    shop.produce(b"a", [("ce_id", "a/x"), ("ce_sequence", "x")])
    report = shop.verify(code=1)
    assert (report["unexpected"], report["records"]) == (5, 7)
    details = {e["detail"] for e in report["examples"]["unexpected"]}
    assert details == {
        "the journal holds no such event for this topic",
        "it has no header ce_id or ce_sequence",
        "it has no key",
        "ce_id does not name the event of key and ce_sequence",
        "ce_sequence is no sequence number: b'x'",
    }


def test_a_record_in_the_topic_of_another_tag_is_unexpected(shop: Shop) -> None:
    shop.append("a", 1, 1, ["red"])
    shop.append("b", 1, 1, ["blue"])
    shop.relay()
    shop.produce(b"a", ours("a", 1), tag="blue")
    report = shop.verify(code=1)
    assert report["unexpected"] == 1
    assert report["examples"]["unexpected"][0]["topic"] == shop.topic("blue")


def test_a_topic_that_no_tag_has_made_is_looked_at_too(shop: Shop) -> None:
    shop.append("a", 1, 1)
    shop.relay()
    shop.append("b", 1, 1, ["blue"])
    shop.relay()
    shop.sql("UPDATE bridge_events SET tags = '{}' WHERE persistence_id = 'b'")
    assert shop.differences(code=1) == {"unexpected": 1}


def test_a_deleted_prefix_is_compacted_and_a_hole_is_not(shop: Shop) -> None:
    shop.append("a", 1, 5)
    shop.relay()
    shop.sql("DELETE FROM bridge_events WHERE sequence_nr <= 2")
    assert shop.differences(code=0) == {"compacted": 2}
    shop.sql("DELETE FROM bridge_events WHERE sequence_nr = 4")
    assert shop.differences(code=1) == {"compacted": 2, "unexpected": 1}


def test_rows_committed_behind_the_cursor_are_pending(shop: Shop) -> None:
    shop.append("a", 1, 3)
    shop.relay()
    shop.append("a", 4, 6)
    assert shop.differences(code=0) == {"not_published_yet": 3}


def test_names_of_topics_follow_the_configuration(shop: Shop) -> None:
    topics = {"exclude": ["secret"], "map": {"red": f"{shop.app}-mapped"}, "all": f"{shop.app}.all"}
    shop.configure(topics=topics)
    shop.append("a", 1, 2, ["red", "secret"])
    shop.append("b", 1, 1, [])
    shop.relay()
    report = shop.verify(code=0)
    assert (report["rows"], report["records"]) == (3, 5)


def test_rows_from_before_start_now_are_told_apart(shop: Shop) -> None:
    shop.configure({"start": "now"})
    shop.append("a", 1, 2)
    shop.relay()
    shop.append("a", 3, 3)
    shop.relay()
    assert shop.differences(code=0) == {"before_start": 2}


def test_keys_are_compared_as_bytes(shop: Shop) -> None:
    for pid in ("ключ", "Order|1", " id ", "a\nb", "A", "a"):
        shop.append(pid, 1, 2)
    shop.relay()
    assert shop.differences(code=0) == {}


def test_the_text_names_the_examples_and_says_what_to_do(shop: Shop) -> None:
    shop.append("a", 1, 1)
    shop.relay()
    shop.produce(b"ghost", ours("ghost", 9))
    shop.capsys.readouterr()
    assert run(["-c", str(shop.file), "verify"]) == 1
    text = shop.capsys.readouterr().out
    assert "'ghost'/9 in" in text
    assert "→ somebody else writes to the topic" in text
    assert text.rstrip().endswith("journal and topics differ")
