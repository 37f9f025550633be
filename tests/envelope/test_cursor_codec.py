"""Cursor ⇔ bytes: round trips, bytes of every version, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.core.cursor import Cursor, JournalIdentity, TopicIdentity
from bridge.core.positions import HistoryPosition, Position, SequencePosition, WindowPosition
from bridge.core.snapshot import GENESIS, PgSnapshot
from bridge.envelope import cursor_codec
from bridge.envelope.cursor_codec import decode_cursor, encode_cursor
from bridge.errors import OperatorError

_GOLDEN = Path(__file__).parent / "golden"
_HEADER_LENGTH = 10

_LONG = st.integers(-(2**63), 2**63 - 1)
_INT = st.integers(-(2**31), 2**31 - 1)
_TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)
_PLACES = st.lists(_LONG | _TEXT, max_size=4).map(tuple)


@st.composite
def _windows(draw: st.DrawFn) -> WindowPosition:
    """The new snapshot ends what the old one left open, in part, and sees further."""
    low, high = draw(st.tuples(st.integers(1, 2**63), st.integers(0, 30)))
    xids = range(low, low + high)
    xip = frozenset(draw(st.lists(st.sampled_from(xids), max_size=5))) if high else frozenset()
    old = PgSnapshot(low, low + high, xip)
    if draw(st.booleans()):
        return WindowPosition(old)
    still = frozenset(xid for xid in sorted(xip) if draw(st.booleans()))
    new = PgSnapshot(low, low + high + draw(st.integers(0, 9)), still)
    return WindowPosition(old, new, draw(st.none() | _PLACES))


_POSITIONS: st.SearchStrategy[Position] = st.one_of(
    st.builds(HistoryPosition, st.booleans(), st.none() | _PLACES),
    _windows(),
    st.builds(SequencePosition, _LONG),
)
_CURSORS = st.builds(
    Cursor,
    app=_TEXT,
    journal=_TEXT,
    shard=_INT,
    shards=_INT,
    owner=_TEXT,
    identity=st.builds(JournalIdentity, _TEXT, _LONG, st.none() | _TEXT),
    origin=_POSITIONS,
    position=_POSITIONS,
    topics=st.lists(st.builds(TopicIdentity, _TEXT, _TEXT, _INT), max_size=3).map(tuple),
    rows=_LONG,
    committed_at_ms=_LONG,
)


@given(cursor=_CURSORS)
def test_every_cursor_reads_back(cursor: Cursor) -> None:
    assert decode_cursor(encode_cursor(cursor)) == cursor


def _fixed(origin: Position, position: Position, witness: str | None) -> Cursor:
    return Cursor(
        app="shop",
        journal="orders",
        shard=1,
        shards=2,
        owner="relay-7",
        identity=JournalIdentity("7312345678901234567", 3, witness),
        origin=origin,
        position=position,
        topics=(TopicIdentity("shop.ж", "Zm9vYmFy", 6), TopicIdentity("shop.b", "YmF6", 12)),
        rows=123_456_789_012,
        committed_at_ms=1_700_000_000_123,
    )


_OLD = PgSnapshot(700, 720, frozenset({700, 710}))
_NEW = PgSnapshot(710, 800, frozenset({710, 799}))
_GOLDEN_CURSORS = {
    "window": _fixed(
        HistoryPosition(False), WindowPosition(_OLD, _NEW, (5_000_000_000, "order-ж", 17)), "w-1"
    ),
    "between-windows": _fixed(WindowPosition(GENESIS), WindowPosition(_OLD), "w-2"),
    "history": _fixed(
        HistoryPosition(True), HistoryPosition(True, (1_699_999_999_999, "order-1", 4)), None
    ),
    "sequence": _fixed(SequencePosition(0), SequencePosition(9_876_543_210), None),
}


@pytest.mark.parametrize("kind", sorted(_GOLDEN_CURSORS))
def test_bytes_of_the_first_version_are_read_for_ever(kind: str) -> None:
    golden = bytes.fromhex((_GOLDEN / f"cursor-v1-{kind}.hex").read_text())
    assert decode_cursor(golden) == _GOLDEN_CURSORS[kind]


def test_every_golden_file_belongs_to_a_test() -> None:
    names = {f"cursor-v1-{kind}.hex" for kind in _GOLDEN_CURSORS}
    assert {path.name for path in _GOLDEN.iterdir()} == names


def test_a_cursor_begins_with_marker_and_fingerprint_of_its_schema() -> None:
    first = encode_cursor(_GOLDEN_CURSORS["window"])
    other = encode_cursor(_GOLDEN_CURSORS["sequence"])
    assert first[:2] == b"\xc3\x01"
    assert first[:_HEADER_LENGTH] == other[:_HEADER_LENGTH]


@given(data=st.binary(max_size=40))
@example(data=b"")
@example(data=b"\xc3\x01")
@example(data=b"\xc3\x01" + bytes(8))
def test_bytes_of_an_unknown_schema_are_left_to_the_operator(data: bytes) -> None:
    with pytest.raises(OperatorError, match="no cursor schema that this version knows"):
        decode_cursor(data)


@pytest.mark.parametrize("kind", sorted(_GOLDEN_CURSORS))
def test_a_truncated_cursor_is_refused_wherever_it_ends(kind: str) -> None:
    data = encode_cursor(_GOLDEN_CURSORS[kind])
    for length in range(len(data)):
        with pytest.raises(OperatorError):
            decode_cursor(data[:length])


def test_a_cursor_with_bytes_behind_it_is_refused() -> None:
    with pytest.raises(OperatorError, match="left over"):
        decode_cursor(encode_cursor(_GOLDEN_CURSORS["window"]) + b"\0")


@given(body=st.binary(max_size=200))
@example(body=b"\xff" * 9 + b"\x01")
@example(body=b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01")
def test_garbage_behind_a_known_header_is_refused_or_a_cursor(body: bytes) -> None:
    header = encode_cursor(_GOLDEN_CURSORS["window"])[:_HEADER_LENGTH]
    _refused_or_read(header + body)


@given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1))
def test_a_damaged_cursor_is_refused_or_a_cursor(flips: list[tuple[int, int]]) -> None:
    data = bytearray(encode_cursor(_GOLDEN_CURSORS["window"]))
    for where, change in flips:
        data[_HEADER_LENGTH + where % (len(data) - _HEADER_LENGTH)] ^= change
    _refused_or_read(bytes(data))


def _refused_or_read(data: bytes) -> None:
    """No other error may escape, and nothing half-read: what is read must be writable again."""
    try:
        cursor = decode_cursor(data)
    except OperatorError:
        return
    assert decode_cursor(encode_cursor(cursor)) == cursor


@pytest.mark.parametrize("change", [{"surprise": 1}, {"rows": None}, {"app": 5}])
def test_a_record_that_is_not_as_the_schema_says_is_never_written(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    to_record = cursor_codec._to_record
    monkeypatch.setattr(cursor_codec, "_to_record", lambda cursor: {**to_record(cursor), **change})
    with pytest.raises((ValueError, TypeError)):
        encode_cursor(_GOLDEN_CURSORS["window"])


def test_a_place_beyond_64_bits_is_never_written() -> None:
    cursor = _fixed(SequencePosition(2**63), SequencePosition(1), None)
    with pytest.raises(OverflowError):
        encode_cursor(cursor)
