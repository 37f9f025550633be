"""Cutting rows into transactions: order, limits, nothing lost."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bridge.core.batching import Batch, Batcher, BatchLimits, EncodedRow, Step
from bridge.core.positions import SequencePosition

_TOPICS = [("a", 0), ("a", 1), ("b", 0), ("c", 0)]


@st.composite
def _steps(draw: st.DrawFn) -> list[Step[str]]:
    count = draw(st.integers(0, 30))
    return [_step(draw, number) for number in range(1, count + 1)]


def _step(draw: st.DrawFn, number: int) -> Step[str]:
    if draw(st.integers(0, 9)) == 0:
        return Step(None, SequencePosition(number), None)
    partitions = tuple(draw(st.lists(st.sampled_from(_TOPICS), max_size=4, unique=True)))
    records = tuple(f"{number}/{where}" for where in partitions)
    size = draw(st.integers(0, 60))
    row = EncodedRow("e", number, (number,), records, size, partitions, None)
    return Step(row, SequencePosition(0), None)


_LIMITS = st.builds(
    BatchLimits,
    max_records=st.integers(1, 12),
    max_bytes=st.integers(1, 200),
    max_partitions=st.integers(1, 4),
)


def _rows(steps: tuple[Step[str], ...]) -> list[EncodedRow[str]]:
    return [step.row for step in steps if step.row is not None]


def _fits(rows: list[EncodedRow[str]], limits: BatchLimits) -> bool:
    return (
        sum(max(1, len(row.records)) for row in rows) <= limits.max_records
        and sum(row.size for row in rows) <= limits.max_bytes
        and len({where for row in rows for where in row.partitions}) <= limits.max_partitions
    )


@given(steps=_steps(), limits=_LIMITS)
def test_batches_keep_the_order_within_limits_and_are_as_large_as_they_can_be(
    steps: list[Step[str]], limits: BatchLimits
) -> None:
    batcher: Batcher[str] = Batcher(limits)
    batcher.add(steps)
    batches: list[Batch[str]] = []
    while (batch := batcher.take()) is not None:
        batches.append(batch)
    assert [step for batch in batches for step in batch.steps] == steps
    for batch in batches:
        rows = _rows(batch.steps)
        assert len(rows) <= 1 or _fits(rows, limits)
    for batch, following in pairwise(batches):
        first = following.steps[0].row
        assert first is not None, "a step without a row always fits"
        assert not _fits([*_rows(batch.steps), first], limits)


@given(steps=_steps(), limits=_LIMITS, data=st.data())
def test_what_is_put_back_comes_again_in_its_place(
    steps: list[Step[str]], limits: BatchLimits, data: st.DataObject
) -> None:
    batcher: Batcher[str] = Batcher(limits)
    waiting, done = list(steps), list[Step[str]]()
    while waiting or len(batcher):
        added = data.draw(st.integers(0, len(waiting))) if len(batcher) else len(waiting)
        batcher.add(waiting[:added])
        waiting = waiting[added:]
        batch = batcher.take()
        assert batch is not None
        sent = data.draw(st.integers(1, len(batch.steps)))
        done += batch.steps[:sent]
        batcher.put_back(batch.steps[sent:])
        assert batcher.full == _is_full(steps[len(done) : len(steps) - len(waiting)], limits)
    assert done == steps
    assert batcher.take() is None


def _is_full(queued: list[Step[str]], limits: BatchLimits) -> bool:
    rows = _rows(tuple(queued))
    records = sum(max(1, len(row.records)) for row in rows)
    size = sum(row.size for row in rows)
    return records >= 2 * limits.max_records or size >= 2 * limits.max_bytes


@given(steps=_steps(), limits=_LIMITS)
def test_clearing_leaves_an_empty_queue(steps: list[Step[str]], limits: BatchLimits) -> None:
    batcher: Batcher[str] = Batcher(limits)
    batcher.add(steps)
    batcher.clear()
    assert (len(batcher), batcher.full, batcher.take()) == (0, False, None)


def test_a_step_stands_behind_its_row_its_page_or_at_its_own_position() -> None:
    row = EncodedRow("e", 1, (7,), ("r",), 1, (("a", 0),), None)
    window, end = SequencePosition(3), SequencePosition(9)
    assert Step(row, window, None).position == SequencePosition(7)
    assert Step(row, window, end).position == end
    assert Step(None, window, None).position == window
