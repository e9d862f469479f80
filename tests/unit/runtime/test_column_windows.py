"""Windows of aggregates declared on columns give what windows of records give, whatever happens to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from riverrun.api.column_aggregates import Agg, Aggregate
from riverrun.api.columns import col
from riverrun.api.output_tag import OutputTag
from riverrun.api.triggers import EventTimeTrigger, ProcessingTimeTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.operators import column_windows
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.harness import HarnessSnapshot, OperatorHarness
from tests.unit.runtime.column_cases import (
    AGGREGATES,
    RECORD,
    aggregated,
    records,
    take_long_runs,
)

LATE = OutputTag("late", RECORD)
SPEND = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
Outputs = list[tuple[str, int | None]]


class OneByOne(EventTimeTrigger[Any]):
    """The usual trigger under another name: windows then fold records one by one."""


class OneByOneByTheClock(ProcessingTimeTrigger[Any]):
    """The same for the wall clock."""


@dataclass
class Windows:
    """How windows are made."""

    assigner: WindowAssigner[Any, Any]
    lateness: int = 0
    aggregates: Sequence[Aggregate] = AGGREGATES
    keyed: bool = True
    by_columns: bool = True
    late_side: bool = True

    def build(self, stream: DataStream) -> DataStream:
        if self.keyed:
            windowed: Any = stream.key_by(col("k")).window(self.assigner)
        else:
            windowed = stream.window_all(self.assigner)
        if not self.by_columns:
            event_time = self.assigner.is_event_time()
            windowed.trigger(OneByOne() if event_time else OneByOneByTheClock())
        if self.late_side and self.assigner.is_event_time():
            windowed.side_output_late_data(LATE)
        if self.lateness:
            windowed.allowed_lateness(self.lateness)
        made: DataStream = windowed.aggregate_columns(*self.aggregates)
        return made


@dataclass
class Session:
    """A harness that may be stopped and started again from its state."""

    windows: Windows
    backend: str = "hashmap"
    parallelism: int = 1
    _harnesses: list[OperatorHarness] = field(default_factory=list)
    _watermark: int | None = None

    def start(self, restore: Sequence[HarnessSnapshot] = ()) -> None:
        late = self.windows.late_side and self.windows.assigner.is_event_time()
        self._harnesses = [
            OperatorHarness(
                self.windows.build,
                types=[RECORD],
                side_outputs=[LATE] if late else [],
                backend=self.backend,
                parallelism=self.parallelism,
                subtask=subtask,
                restore=restore,
            )
            for subtask in range(self.parallelism)
        ]
        for harness in self._harnesses:
            take_long_runs(harness)

    @property
    def harness(self) -> OperatorHarness:
        (harness,) = self._harnesses
        return harness

    def push(self, run: Sequence[tuple[Row, int]]) -> None:
        if run:
            rows, times = zip(*run, strict=True)
            self.harness.push_run(rows, times)

    def watermark(self, time: int) -> None:
        self._watermark = time
        self.harness.watermark(time)

    def restart(self) -> None:
        snapshot = self.harness.snapshot()
        self.close()
        self.start([snapshot])
        if self._watermark is not None:
            self.harness.watermark(self._watermark)

    def outputs(self) -> tuple[Outputs, list[str]]:
        late = self.harness.side_output(LATE) if self.windows.late_side else []
        return sorted((repr(v), t) for v, t in self.harness.records()), sorted(map(repr, late))

    def close(self) -> None:
        for harness in self._harnesses:
            harness.close()
        self._harnesses = []


@contextmanager
def session(windows: Windows, backend: str = "hashmap") -> Iterator[Session]:
    opened = Session(windows, backend)
    opened.start()
    try:
        yield opened
    finally:
        opened.close()


Step = Callable[[Session], None]


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Runs of records out of order, watermarks, restarts."""
    made: list[tuple[str, Any]] = []
    now = 0
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["run", "run", "run", "watermark", "restart"]))
        if kind == "run":
            times = st.integers(now - 30, now + 30)
            run = draw(st.lists(st.tuples(records(), times), min_size=1, max_size=8))
            made.append(("run", run))
        elif kind == "watermark":
            now += draw(st.integers(1, 25))
            made.append(("watermark", now))
        else:
            made.append(("restart", None))
    return made


@st.composite
def assigners(draw: st.DrawFn) -> WindowAssigner[Any, Any]:
    size = draw(st.integers(1, 20))
    if draw(st.booleans()):
        return TumblingEventTimeWindows(size, draw(st.integers(1 - size, size - 1)))
    slide = draw(st.integers(1, size))
    return SlidingEventTimeWindows(size, slide, draw(st.integers(1 - slide, slide - 1)))


def run_steps(session: Session, made: Sequence[tuple[str, Any]]) -> list[Any]:
    seen = []
    for kind, what in made:
        if kind == "run":
            session.push(what)
        elif kind == "watermark":
            session.watermark(what)
        else:
            session.restart()
        seen.append(session.outputs())
    session.harness.end_input()
    seen.append(session.outputs())
    return seen


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@given(
    assigner=assigners(), lateness=st.sampled_from([0, 0, 5, 40]), made=steps(), keyed=st.booleans()
)
@settings(max_examples=12, deadline=None)
@example(
    assigner=SlidingEventTimeWindows(10, 4),
    lateness=6,
    keyed=True,
    made=[
        ("run", [(Row(*["a"] + [None] * 8), 3), (Row(*["a"] + [None] * 8), 11)]),
        ("watermark", 12),
        ("restart", None),
        ("run", [(Row(*["a"] + [None] * 8), 9)]),
    ],
)
def test_columns_give_what_records_give(
    backend: str,
    assigner: WindowAssigner[Any, Any],
    lateness: int,
    made: list[tuple[str, Any]],
    keyed: bool,
) -> None:
    with (
        session(Windows(assigner, lateness, keyed=keyed), backend) as columns,
        session(Windows(assigner, lateness, keyed=keyed, by_columns=False)) as rows,
    ):
        assert run_steps(columns, made) == run_steps(rows, made)


@given(
    assigner=assigners(),
    run=st.lists(st.tuples(records(), st.integers(-50, 50)), min_size=1, max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=3),
)
@settings(max_examples=30, deadline=None)
def test_windows_hold_what_belongs_to_them(
    assigner: Any, run: list[tuple[Row, int]], cuts: list[int]
) -> None:
    expected = []
    windows = {(row["k"], window) for row, time in run for window in assigner.windows_at(time)}
    for key, window in windows:
        inside = [row for row, time in run if row["k"] == key and window.start <= time < window.end]
        expected.append((key, window.start, window.end, *aggregated(inside)))
    with session(Windows(assigner)) as columns:
        bounds = sorted({0, *cuts, len(run)})
        for start, end in pairwise(bounds):
            columns.push(run[start:end])
        columns.harness.end_input()
        found = [(tuple(row), time) for row, time in columns.harness.records()]
    assert sorted((repr(row), row[2] - 1) for row in expected) == sorted(
        (repr(row), time) for row, time in found
    )


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(
    "assigner", [TumblingProcessingTimeWindows(10), SlidingProcessingTimeWindows(10, 5)]
)
@given(
    made=st.lists(
        st.tuples(st.lists(records(), max_size=4), st.integers(0, 12), st.booleans()), max_size=5
    )
)
@settings(max_examples=15, deadline=None)
def test_windows_of_the_wall_clock_give_what_records_give(
    assigner: WindowAssigner[Any, Any],
    made: list[tuple[list[Row], int, bool]],
    keyed: bool,
) -> None:
    seen = []
    for by_columns in (True, False):
        windows = Windows(assigner, keyed=keyed, by_columns=by_columns, late_side=False)
        with session(windows) as opened:
            for rows, wait, _ in made:
                if rows:
                    opened.harness.push_run(rows)
                opened.harness.advance_clock(wait)
            seen.append(opened.outputs())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@given(
    assigner=assigners(),
    before=st.lists(st.tuples(records(), st.integers(0, 60)), min_size=1, max_size=20),
    watermark=st.integers(-5, 60),
    to=st.integers(1, 3),
)
@settings(max_examples=12, deadline=None)
def test_key_groups_move_to_other_subtasks(
    backend: str,
    assigner: WindowAssigner[Any, Any],
    before: list[tuple[Row, int]],
    watermark: int,
    to: int,
) -> None:
    windows = Windows(assigner)
    with session(windows, backend) as one:
        one.push(before)
        one.watermark(watermark)
        first = one.outputs()
        snapshot = one.harness.snapshot()
        one.harness.end_input()
        expected, _ = one.outputs()
    several = Session(windows, backend, parallelism=to)
    several.start([snapshot])
    found: list[Any] = []
    for harness in several._harnesses:
        harness.watermark(watermark)
        assert harness.records() == []
        harness.end_input()
        found += harness.records()
    several.close()
    assert sorted((repr(value), time) for value, time in found) == expected
    assert first is not None


def test_slices_leave_memory_when_there_are_too_many_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(column_windows, "_MOST_CELLS", 20)
    windows = Windows(SlidingEventTimeWindows(40, 10), aggregates=[Agg.count(), Agg.sum("n")])
    rows = [
        (Row(*[f"key {number % 13}", None, number, *[None] * 6]), (number * 7) % 200)
        for number in range(600)
    ]
    seen = []
    for by_columns, backend in ((True, "rocksdb"), (False, "hashmap")):
        windows.by_columns = by_columns
        with session(windows, backend) as opened:
            for start in range(0, len(rows), 10):
                opened.push(rows[start : start + 10])
            if by_columns:
                assert opened.harness.metrics()["stateEntries"] > 0
            opened.restart()
            opened.harness.end_input()
            seen.append(opened.outputs())
    assert seen[0] == seen[1]


def spend(stream: DataStream) -> DataStream:
    windows = TumblingEventTimeWindows.of(10)
    return stream.key_by(col("k")).window(windows).aggregate_columns(Agg.sum("n"))


def test_a_sum_that_does_not_fit_is_refused() -> None:
    with OperatorHarness(spend, types=[SPEND]) as harness:
        harness.push(Row("a", 2**63 - 1), 1)
        harness.push(Row("a", -5), 1)
        harness.push(Row("a", 5), 1)
        with pytest.raises(OperatorFailed) as caught:
            harness.push(Row("a", 1), 1)
    assert "does not fit 64 bits" in str(caught.value.__cause__)
    assert "sum_n" in str(caught.value.__cause__)


def test_a_record_without_a_timestamp_is_refused() -> None:
    with OperatorHarness(spend, types=[SPEND]) as harness, pytest.raises(OperatorFailed) as caught:
        harness.push(Row("a", 1))
    assert "has no timestamp" in str(caught.value.__cause__)


@pytest.mark.parametrize(("time", "said"), [(-(2**63), "no timestamp"), (2**63 - 1, "no room")])
def test_a_timestamp_at_the_end_of_time_is_refused(time: int, said: str) -> None:
    with OperatorHarness(spend, types=[SPEND]) as harness, pytest.raises(OperatorFailed) as caught:
        harness.push(Row("a", 1), time)
    assert said in str(caught.value.__cause__)


def test_late_records_are_counted_where_nobody_reads_them() -> None:
    with OperatorHarness(spend, types=[SPEND]) as harness:
        harness.watermark(100)
        harness.push_run([Row("a", 1), Row("a", 2)], [5, 200])
        harness.end_input()
        assert [row.sum_n for row in harness.output()] == [2]
        assert harness.metrics()["numLateRecordsDropped"] == 1


def test_sessions_are_aggregated_record_by_record() -> None:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(col("k")).window(EventTimeSessionWindows.with_gap(5))
        return windowed.aggregate_columns(Agg.count(), Agg.sum("n"))

    with OperatorHarness(build, types=[SPEND]) as harness:
        harness.push_run([Row("a", 1), Row("a", 2), Row("b", 4), Row("a", 8)], [1, 9, 3, 5])
        harness.end_input()
        found = sorted(map(tuple, harness.output()))
    assert found == [("a", 1, 14, 3, 11), ("b", 3, 8, 1, 4)]


def test_count_windows_have_no_bounds() -> None:
    with OperatorHarness(
        lambda stream: stream.key_by(col("k")).count_window(2).aggregate_columns(Agg.sum("n")),
        types=[SPEND],
    ) as harness:
        harness.push_run([Row("a", 1), Row("b", 5), Row("a", 2), Row("a", 4)])
        assert harness.output() == [Row(k="a", sum_n=3)]


def test_keys_may_be_several_columns_or_what_a_function_says() -> None:
    def by_columns(stream: DataStream) -> DataStream:
        keyed = stream.key_by_columns("k", "n").window(TumblingEventTimeWindows.of(10))
        return keyed.aggregate_columns(Agg.count())

    def by_function(stream: DataStream) -> DataStream:
        keyed = stream.key_by(lambda row: row.n % 2, key_type=Types.LONG())
        return keyed.window(TumblingEventTimeWindows.of(10)).aggregate_columns(Agg.count())

    rows = [Row("a", 1), Row("b", 1), Row("a", 1), Row("a", 2), Row(None, 3)]
    with OperatorHarness(by_columns, types=[SPEND]) as harness:
        harness.push_run(rows, [1] * 5)
        harness.end_input()
        found = {(row.k, row.n): row["count"] for row in harness.output()}
    assert found == {("a", 1): 2, ("b", 1): 1, ("a", 2): 1, (None, 3): 1}
    with OperatorHarness(by_function, types=[SPEND]) as harness:
        harness.push_run(rows, [1] * 5)
        harness.end_input()
        assert {row.key: row["count"] for row in harness.output()} == {1: 4, 0: 1}
