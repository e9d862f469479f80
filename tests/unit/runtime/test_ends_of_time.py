"""Windows near the ends of time: the smallest and the greatest timestamps there are, and the year 9999."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.functions import AggregateFunction
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness

LAST = 2**63 - 1
FIRST = -(2**63) + 1
YEAR_9999 = 253_402_300_799_999
SIZE = 10


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Show(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        found = list(elements)
        count = found[0] if isinstance(found[0], int) else len(found)
        yield context.window().start, context.window().end, count


WINDOWS: list[tuple[WindowAssigner[Any, Any], int]] = [
    (TumblingEventTimeWindows.of(SIZE, 3), SIZE),
    (SlidingEventTimeWindows.of(SIZE, 5), 5),
    (SlidingEventTimeWindows.of(SIZE, 3), 3),
]


def spans(time: int, slide: int, offset: int) -> list[tuple[int, int]]:
    starts = [at for at in range(time - SIZE + 1, time + 1) if (at - offset) % slide == 0]
    return [(start, start + SIZE) for start in starts]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("folded", [False, True], ids=["listed", "folded"])
@pytest.mark.parametrize(("assigner", "slide"), WINDOWS, ids=repr)
@pytest.mark.parametrize("time", [FIRST, YEAR_9999, LAST - 4, LAST])
def test_windows_at_the_ends_of_time_hold_what_belongs_to_them(
    time: int, assigner: WindowAssigner[Any, Any], slide: int, backend: str, *, folded: bool
) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda value: value).window(assigner).allowed_lateness(7)
        return windows.aggregate(Count(), Show()) if folded else windows.process(Show())

    with OperatorHarness(build, backend=backend) as harness:
        harness.push("a", time)
        harness.push("a", time)
        snapshot = harness.snapshot()
    with OperatorHarness(build, backend=backend, restore=[snapshot]) as harness:
        harness.end_input()
        found = harness.records()

    offset = 3 if slide == SIZE else 0
    expected = [(start, end, 2) for start, end in spans(time, slide, offset)]
    assert sorted(value for value, _ in found) == expected
    assert all(at == min(value[1] - 1, LAST) for value, at in found)


@pytest.mark.parametrize("time", [FIRST, YEAR_9999, LAST])
def test_sessions_at_the_ends_of_time_hold_what_belongs_to_them(time: int) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda value: value).window(EventTimeSessionWindows.with_gap(SIZE))
        return windows.process(Show())

    with OperatorHarness(build) as harness:
        harness.push("a", time)
        harness.push("a", 5)
        harness.end_input()

        assert sorted(harness.output()) == sorted([(time, time + SIZE, 1), (5, 5 + SIZE, 1)])


@pytest.mark.parametrize("time", [FIRST, LAST])
@pytest.mark.parametrize(("assigner", "slide"), WINDOWS, ids=repr)
def test_windows_on_columns_refuse_what_they_cannot_hold(
    time: int, assigner: WindowAssigner[Any, Any], slide: int
) -> None:
    rows = Types.ROW_NAMED(["key"], [Types.STRING()])

    def build(stream: DataStream) -> DataStream:
        return stream.key_by_columns("key").window(assigner).aggregate_columns(Agg.count())

    with OperatorHarness(build, types=[rows]) as harness:
        with pytest.raises(OperatorFailed) as caught:
            harness.push_run([Row("a"), Row("b")], [5, time])

        said = str(caught.value.__cause__)
        assert f"the timestamp {time}, which leaves no room for a window" in said
        assert "check the timestamp assigner" in said
    del slide
