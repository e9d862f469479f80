"""Window aggregates in two phases give what one phase gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from riverrun.api.column_aggregates import Agg, Aggregate
from riverrun.api.columns import col
from riverrun.api.partial_aggregates import PartialRows, partial_rows
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.datastream.column_streams import rows_of
from riverrun.datastream.data_stream import DataStream
from riverrun.graph.column_specs import ColumnWindowSpec, FixedWindows, LocalAggregateSpec
from riverrun.runtime.failures import OperatorFailed
from riverrun.serde.columns import known_layout
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness
from tests.unit.runtime.column_cases import NAMES, RECORD, records, take_long_runs

EXACT: tuple[Aggregate, ...] = (
    Agg.count(),
    Agg.count("n"),
    Agg.sum("small"),
    Agg.sum("n"),
    Agg.mean("n"),
    Agg.min("n"),
    Agg.max("n"),
    Agg.min("x"),
    Agg.max("x"),
    Agg.min("at"),
    Agg.max("at"),
    Agg.max("flag"),
)
LAYOUT = known_layout(RECORD)
ROWS = cast("PartialRows", partial_rows(EXACT, LAYOUT, [0]))
PARTIAL = ROWS.type_info
BOUNDS = [("window_start", Types.LONG()), ("window_end", Types.LONG())]
MADE = rows_of("test", [("k", Types.STRING()), *BOUNDS], EXACT, LAYOUT)


class TwoPhases:
    """A first phase whose results are given to the second."""

    def __init__(self, first: OperatorHarness, second: OperatorHarness) -> None:
        self.first = first
        self.second = second

    def push_run(self, rows: Sequence[Row], times: Sequence[int]) -> list[tuple[Any, ...]]:
        """The partial aggregates that went from one to the other."""
        self.first.push_run(rows, times)
        partial = self.first.output()
        if partial:
            self.second.push_run(partial)
        return partial


@contextmanager
def two_phases(assigner: FixedWindows, *, always: bool = False) -> Iterator[TwoPhases]:
    def local(stream: DataStream) -> DataStream:
        spec = LocalAggregateSpec(EXACT, RECORD, assigner, (0,), "the window", always)
        return stream.rebalance()._then("local", spec, PARTIAL, declared=True)

    def window(stream: DataStream) -> DataStream:
        spec = ColumnWindowSpec(EXACT, RECORD, assigner, partial_key=(0,))
        return stream.key_by(col("f0"))._then("the window", spec, MADE, declared=True)

    with ExitStack() as stack:
        first = stack.enter_context(OperatorHarness(local, types=[RECORD]))
        second = stack.enter_context(OperatorHarness(window, types=[PARTIAL]))
        take_long_runs(first)
        take_long_runs(second)
        yield TwoPhases(first, second)


@contextmanager
def one_phase(assigner: FixedWindows) -> Iterator[OperatorHarness]:
    def window(stream: DataStream) -> DataStream:
        return stream.key_by(col("k")).window(assigner).aggregate_columns(*EXACT)

    with OperatorHarness(window, types=[RECORD]) as harness:
        take_long_runs(harness)
        yield harness


def record(key: str | None = "a", **values: Any) -> Row:
    return Row(**dict.fromkeys(NAMES) | {"k": key} | values)


def results(harness: OperatorHarness) -> list[tuple[str, int | None]]:
    return sorted((repr(value), time) for value, time in harness.records())


def dropped(harness: OperatorHarness) -> float:
    return harness.metrics()["numLateRecordsDropped"]


runs = st.lists(st.tuples(records(), st.integers(-30, 30)), min_size=1, max_size=12)
steps = st.lists(st.tuples(runs, st.integers(-10, 30)), min_size=1, max_size=5)
assigners: st.SearchStrategy[FixedWindows] = st.sampled_from(
    [
        TumblingEventTimeWindows(10),
        TumblingEventTimeWindows(7, 3),
        SlidingEventTimeWindows(12, 4),
        SlidingEventTimeWindows(10, 4, 1),
        SlidingEventTimeWindows(20, 1),
    ]
)


@given(assigner=assigners, made=steps, always=st.booleans())
@example(
    TumblingEventTimeWindows(10), [([(record(n=1), 25)], 20), ([(record(n=2), 3)] * 3, 0)], True
)
def test_two_phases_give_what_one_gives(
    assigner: FixedWindows, made: list[tuple[list[tuple[Row, int]], int]], always: bool
) -> None:
    now = 0
    with two_phases(assigner, always=always) as two, one_phase(assigner) as one:
        for run, further in made:
            rows, moments = zip(*run, strict=True)
            times = [now + moment for moment in moments]
            two.push_run(rows, times)
            one.push_run(rows, times)
            now += further
            two.second.watermark(now)
            one.watermark(now)
            assert results(two.second) == results(one)
        two.second.end_input()
        one.end_input()

        assert results(two.second) == results(one)
        assert dropped(two.second) == dropped(one)


def test_records_of_one_key_and_slice_travel_as_one_row() -> None:
    with two_phases(TumblingEventTimeWindows(10)) as two:
        rows = [record(key, n=number) for number in range(50) for key in ("a", "b")]
        partial = two.push_run(rows, [number // 10 * 2 for number in range(100)])

    assert sorted((row[0], row[1], row[ROWS.rows]) for row in partial) == [
        ("a", 0, 25),
        ("a", 10, 25),
        ("b", 0, 25),
        ("b", 10, 25),
    ]


@pytest.mark.parametrize("always", [True, False])
def test_runs_with_hardly_any_key_twice_pass_record_by_record_for_a_while(always: bool) -> None:
    different = [record(f"key {number}") for number in range(20)]
    same = [record("one key")] * 20
    with two_phases(TumblingEventTimeWindows(10), always=always) as two:
        two.push_run(different, [5] * 20)
        sizes = [len(two.push_run(same, [5] * 20)) for _ in range(17)]

    assert sizes == ([1] * 17 if always else [20] * 15 + [1] * 2)


def test_a_sum_that_leaves_64_bits_only_without_what_the_window_holds_is_none_of_its_business() -> (
    None
):
    large = 1 << 62
    with two_phases(TumblingEventTimeWindows(10)) as two:
        two.push_run([record(n=-large)], [1])
        partial = two.push_run([record(n=large), record(n=large), record(n=3)], [1, 2, 3])
        two.second.end_input()
        (row,) = two.second.output()

    assert len(partial) == 3
    assert row.sum_n == large + 3


def test_a_sum_that_leaves_64_bits_fails_in_the_window() -> None:
    large = 1 << 62
    with two_phases(TumblingEventTimeWindows(10)) as two, pytest.raises(OperatorFailed) as caught:
        two.push_run([record(n=large)] * 3, [1, 2, 3])

    assert caught.value.operator == "the window"
    assert "does not fit 64 bits" in str(caught.value.__cause__)


def test_a_record_without_a_time_is_told_by_the_name_of_the_window() -> None:
    with two_phases(TumblingEventTimeWindows(10)) as two, pytest.raises(OperatorFailed) as caught:
        two.first.push(record(n=1))

    assert "'the window'" in str(caught.value.__cause__)
