"""Windows between snapshots, over simulated histories of transactions."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.core.positions import WindowPosition
from bridge.core.snapshot import GENESIS, PgSnapshot, in_window


@dataclass
class _Server:
    """Hands out transaction ids and snapshots as PostgreSQL does."""

    next_xid: int = 3
    open: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)

    def begin(self) -> None:
        self.open.append(self.next_xid)
        self.next_xid += 1

    def end(self, index: int) -> None:
        if self.open:
            self.ended.append(self.open.pop(index % len(self.open)))

    def snapshot(self) -> PgSnapshot:
        """Bounded by the last id that has ended, not by the last that was handed out."""
        xmax = max(self.ended, default=2) + 1
        xip = frozenset(xid for xid in self.open if xid < xmax)
        return PgSnapshot(min(xip, default=xmax), xmax, xip)


_MOVES = st.lists(
    st.one_of(st.just("begin"), st.just("snapshot"), st.integers(0, 50)), min_size=1, max_size=120
)


@given(moves=_MOVES)
def test_each_ended_transaction_is_in_exactly_one_window_the_first_that_sees_it(
    moves: list[str | int],
) -> None:
    server, chain, first_seen = _Server(), [GENESIS], dict[int, int]()
    for move in [*moves, *range(len(moves)), "snapshot"]:
        if move == "begin":
            server.begin()
        elif isinstance(move, int):
            server.end(move)
        else:
            for xid in server.ended:
                first_seen.setdefault(xid, len(chain))
            chain.append(server.snapshot())
    assert server.open == []
    assert {xid: _windows_of(xid, chain) for xid in server.ended} == {
        xid: [window] for xid, window in first_seen.items()
    }


def _windows_of(xid: int, chain: list[PgSnapshot]) -> list[int]:
    return [i for i in range(1, len(chain)) if in_window(xid, chain[i - 1], chain[i])]


@given(moves=_MOVES)
def test_a_later_snapshot_follows_an_earlier_one_and_never_the_reverse(
    moves: list[str | int],
) -> None:
    server, chain = _Server(), [GENESIS]
    for move in moves:
        if move == "begin":
            server.begin()
        elif isinstance(move, int):
            server.end(move)
        else:
            chain.append(server.snapshot())
    for i, older in enumerate(chain):
        for newer in chain[i:]:
            assert newer.follows(older)
            assert older == newer or not older.follows(newer)


@st.composite
def _snapshots(draw: st.DrawFn) -> PgSnapshot:
    xmin = draw(st.integers(1, 40))
    xmax = xmin + draw(st.integers(0, 20))
    ids = st.integers(xmin, xmax - 1) if xmax > xmin else st.nothing()
    return PgSnapshot(xmin, xmax, draw(st.frozensets(ids)))


@given(txid=st.integers(1, 70), old=_snapshots(), new=_snapshots())
def test_the_predicate_is_what_the_new_snapshot_sees_and_the_old_one_did_not(
    txid: int, old: PgSnapshot, new: PgSnapshot
) -> None:
    def visible(snapshot: PgSnapshot) -> bool:  # pg_visible_in_snapshot, as documented
        if txid < snapshot.xmin:
            return True
        return txid < snapshot.xmax and txid not in snapshot.xip

    assert in_window(txid, old, new) == (visible(new) and not visible(old))


@given(snapshot=_snapshots())
def test_the_text_form_reads_back(snapshot: PgSnapshot) -> None:
    assert PgSnapshot.parse(str(snapshot)) == snapshot


def test_ids_of_64_bits_are_kept() -> None:
    text = "18446744073709551000:18446744073709551610:18446744073709551001,18446744073709551609"
    assert str(PgSnapshot.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "1", "1:2", "1:2:3:4", "a:2:", "1:b:", "0:1:", "5:4:", "5:9:4", "5:9:9", "5:9:x"]
)
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a snapshot|invalid literal"):
        PgSnapshot.parse(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("5:5:", "4:5:4"),  # sees less
        ("5:9:", "4:9:"),  # begins earlier
        ("5:9:6", "7:8:"),  # ends earlier
        ("5:9:6", "6:9:6,7"),  # 7 had ended
    ],
)
def test_a_window_never_runs_backwards(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        WindowPosition(PgSnapshot.parse(old), PgSnapshot.parse(new))


def test_a_place_needs_a_window_in_progress() -> None:
    with pytest.raises(ValueError, match="needs the window's end"):
        WindowPosition(GENESIS, None, (1, "a", 1))
