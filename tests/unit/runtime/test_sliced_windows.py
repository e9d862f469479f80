"""Windows that are folded a run at a time give what the operator for any window gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, cast
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import ReducingStateDescriptor, ValueStateDescriptor
from riverrun.api.triggers import CountTrigger, EventTimeTrigger
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.windows import TimeWindow
from riverrun.datastream.data_stream import DataStream
from riverrun.graph.specs import WindowSpec
from riverrun.runtime.operators.folded_windows import FoldedWindowOperator, slicing_of
from riverrun.runtime.operators.operator import Operator
from riverrun.runtime.operators.sliced_windows import SlicedWindowOperator
from riverrun.runtime.operators.table import OPERATORS
from riverrun.runtime.operators.window import WindowOperator
from riverrun.runtime.operators.windows import build_window_operator
from riverrun.serde.stable_hash import key_group
from riverrun.testing.harness import HarnessSnapshot, OperatorHarness

LATE = OutputTag("late")

Record: TypeAlias = tuple[str, int]
"""Key and amount."""


class Joined(ReduceFunction):
    """The amounts of a key as text, so that the order counts; changes nothing in place."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], f"{value1[1]} {value2[1]}"


class Sorted(ReduceFunction):
    """The same, but the order does not count."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], " ".join(sorted(f"{value1[1]} {value2[1]}".split()))


class Sums(AggregateFunction):
    """Amounts and their number in a list that is changed in place, by ``merge`` as well."""

    def create_accumulator(self) -> list[Any]:
        return [None, 0, 0]

    def add(self, value: Record, accumulator: list[Any]) -> list[Any]:
        accumulator[0] = value[0]
        accumulator[1] += value[1]
        accumulator[2] += 1
        return accumulator

    def get_result(self, accumulator: list[Any]) -> Any:
        return tuple(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a[0] = acc_a[0] or acc_b[0]
        acc_a[1] += acc_b[1]
        acc_a[2] += acc_b[2]
        acc_b.clear()
        return acc_a


class NotMerging(Sums):
    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        raise NotImplementedError


class MergingToNothing(Sums):
    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> Any:
        del acc_a, acc_b


class MergingWrongly(Sums):
    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        del acc_b
        return acc_a


class Forgetful(Sums):
    """Has no accumulator now and then."""

    def add(self, value: Record, accumulator: list[Any]) -> Any:
        return None if value[1] == 7 else super().add(value, accumulator)


class SometimesNothing(Sums):
    """Has no result now and then."""

    def get_result(self, accumulator: list[Any]) -> Any:
        return None if accumulator[1] % 3 == 0 else tuple(accumulator)


class Described(WindowFunction[Any, Any, Any, TimeWindow]):
    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[Any]:
        for value in inputs:
            yield key, window.start, window.end, value


class Counting(ProcessWindowFunction[Any, Any, Any, TimeWindow]):
    """Counts firings of the window and of the key, and sends odd ones to the side."""

    fired = ValueStateDescriptor("fired")
    ever = ReducingStateDescriptor("ever", lambda a, b: a + b)

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[Any]:
        fired = context.window_state().get_state(self.fired)
        ever = context.global_state().get_reducing_state(self.ever)
        times = (fired.value() or 0) + 1
        fired.update(times)
        ever.add(1)
        found = (
            key,
            context.window(),
            times,
            ever.get(),
            context.current_watermark(),
            *elements,
        )
        yield (LATE, found) if times % 2 == 0 else found

    def clear(self, context: ProcessWindowFunction.Context[TimeWindow]) -> None:
        context.window_state().get_state(self.fired).clear()


@dataclass(frozen=True)
class Program:
    """Windows of some kind over a keyed stream."""

    size: int
    slide: int
    offset: int
    event_time: bool
    lateness: int
    aggregate: Any
    function: Any
    late: bool
    fire_at_end: bool = False

    def build(self, stream: DataStream) -> DataStream:
        assigner: Any
        if self.slide == self.size:
            kind = TumblingEventTimeWindows if self.event_time else TumblingProcessingTimeWindows
            assigner = kind(self.size, self.offset)
        else:
            sliding = SlidingEventTimeWindows if self.event_time else SlidingProcessingTimeWindows
            assigner = sliding(self.size, self.slide, self.offset)
        cut = stream.key_by(lambda record: record[0]).window(assigner)
        if self.event_time:
            cut = cut.allowed_lateness(self.lateness)
        if self.late:
            cut = cut.side_output_late_data(LATE)
        if isinstance(self.aggregate, AggregateFunction):
            return cut.aggregate(self.aggregate, self.function)
        return cut.reduce(self.aggregate, self.function)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    size = draw(st.integers(1, 12))
    slide = draw(st.integers(1, size))
    kinds: list[Callable[[], Any]] = [Sums, Sums, SometimesNothing, Sorted, NotMerging]
    kinds += [Joined, Forgetful] if slide == size else [MergingToNothing, MergingWrongly]
    return Program(
        size=size,
        slide=slide,
        offset=draw(st.integers(1 - slide, slide - 1)),
        event_time=draw(st.integers(0, 3)) > 0,
        lateness=draw(st.sampled_from((0, 0, 1, 5, 30))),
        aggregate=draw(st.sampled_from(kinds))(),
        function=draw(st.sampled_from((None, Described(), Counting()))),
        late=draw(st.booleans()),
        fire_at_end=draw(st.booleans()),
    )


Step: TypeAlias = tuple[str, Any]

records = st.tuples(st.sampled_from("abc"), st.integers(1, 9))
runs = st.lists(st.tuples(records, st.integers(0, 40)), min_size=1, max_size=12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("run"), runs),
        st.tuples(st.just("run"), runs),
        st.tuples(st.just("watermark"), st.integers(0, 45)),
        st.tuples(st.just("clock"), st.integers(1, 15)),
        st.tuples(st.just("restart"), st.none()),
    ),
    max_size=25,
)


Build: TypeAlias = Callable[[WindowSpec], Operator]


def chosen(build: Build) -> Any:
    """While it is entered, ``build`` makes the operators of windows."""
    return patch.dict(cast("dict[type, Build]", OPERATORS), {WindowSpec: build})


class Driven:
    """A program in a harness that can be restarted."""

    def __init__(
        self, program: Program, build: Build, backend: str, config: dict[str, str]
    ) -> None:
        self._program, self._backend, self._config = program, backend, config
        self._build = lambda spec: build(replace(spec, fire_open_at_end=program.fire_at_end))
        self._harness = self._open((), 0)

    def do(self, step: Step) -> tuple[Any, ...]:
        """Take a step; what came out of it."""
        harness = self._harness
        match step:
            case "run", run:
                harness.push_run([record for record, _ in run], [time for _, time in run])
            case "watermark", time:
                harness.watermark(time)
            case "clock", milliseconds:
                harness.advance_clock(milliseconds)
            case "restart", _:
                found = self.seen()
                taken, now = harness.snapshot(), harness.now()
                harness.close()
                self._harness = self._open((taken,), now)
                return found
            case _:
                harness.end_input()
        return self.seen()

    def seen(self) -> tuple[Any, ...]:
        """Results, in the order of time and else sorted; side output; records dropped."""
        harness = self._harness
        found = harness.records()
        times = [time for _, time in found]
        dropped = harness.metrics().get("numLateRecordsDropped", 0.0)
        return (
            times,
            sorted(map(repr, found)),
            sorted(map(repr, harness.side_output(LATE))),
            dropped,
        )

    def close(self) -> None:
        self._harness.close()

    def _open(self, restore: tuple[HarnessSnapshot, ...], now: int) -> OperatorHarness:
        with chosen(self._build):
            return OperatorHarness(
                self._program.build,
                backend=self._backend,
                config=self._config,
                side_outputs=[LATE],
                restore=restore,
                start=now,
            )


def same_results(program: Program, taken: list[Step], backend: str, **config: str) -> None:
    """Both operators give the same at each step."""
    with ExitStack() as stack:
        fast = Driven(program, build_window_operator, backend, config)
        stack.callback(fast.close)
        general = Driven(program, WindowOperator, backend, config)
        stack.callback(general.close)
        for step in (*taken, ("end", None)):
            assert fast.do(step) == general.do(step), step


def test_a_window_that_fired_before_a_restart_does_not_fire_again_beside_its_neighbours() -> None:
    program = Program(2, 1, 0, True, 5, Sums(), None, False, False)
    taken: list[Step] = [
        ("run", [(("a", 1), 20)]),
        ("watermark", 21),
        ("restart", None),
        ("run", [(("a", 1), 19)]),
    ]
    same_results(program, taken, "hashmap")


@settings(max_examples=150, deadline=None)
@given(programs(), steps)
def test_any_windows_on_the_hashmap_backend(program: Program, taken: list[Step]) -> None:
    same_results(program, taken, "hashmap")


@settings(max_examples=25, deadline=None)
@given(programs(), steps)
def test_any_windows_with_incremental_snapshots(program: Program, taken: list[Step]) -> None:
    same_results(program, taken, "hashmap", **{"execution.checkpointing.incremental": "true"})


@settings(max_examples=15, deadline=None)
@given(programs(), steps)
def test_any_windows_on_the_rocksdb_backend(program: Program, taken: list[Step]) -> None:
    same_results(program, taken, "rocksdb")


def a_spec(assigner: Any, **changes: Any) -> WindowSpec:
    asked = {"trigger": assigner.get_default_trigger(None), "aggregate": max, "function": None}
    return WindowSpec(assigner, **{**asked, **changes})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (a_spec(TumblingEventTimeWindows(10)), FoldedWindowOperator),
        (a_spec(SlidingEventTimeWindows(10, 10)), FoldedWindowOperator),
        (a_spec(SlidingProcessingTimeWindows(10, 3)), SlicedWindowOperator),
        (a_spec(SlidingEventTimeWindows(10, 20)), WindowOperator),
        (a_spec(TumblingEventTimeWindows(10), aggregate=None), WindowOperator),
        (a_spec(TumblingEventTimeWindows(10), evictor=CountEvictor.of(1)), WindowOperator),
        (a_spec(TumblingEventTimeWindows(10), trigger=CountTrigger(3)), WindowOperator),
        (a_spec(TumblingProcessingTimeWindows(10), trigger=EventTimeTrigger()), WindowOperator),
    ],
)
def test_fixed_windows_with_their_own_trigger_and_an_incremental_function_are_folded(
    spec: WindowSpec, expected: type[Operator]
) -> None:
    chosen = build_window_operator(spec)
    assert isinstance(chosen, expected)
    assert isinstance(chosen, FoldedWindowOperator) == (slicing_of(spec) is not None)


class Counted(Sums):
    """Counts calls in a list that is not part of the program's own copy."""

    calls: ClassVar[list[str]] = []

    def add(self, value: Record, accumulator: list[Any]) -> list[Any]:
        self.calls.append("add")
        return super().add(value, accumulator)


def test_a_record_is_folded_once_however_many_windows_it_is_in() -> None:
    program = Program(60, 1, 0, True, 0, Counted(), None, False)
    Counted.calls.clear()
    with OperatorHarness(program.build) as harness:
        harness.push_run([("a", 1)] * 100, [30] * 100)
        tried_out = 3
        assert len(Counted.calls) == 100 + tried_out
        harness.end_input()
        assert harness.output() == [("a", 100, 100)] * 60
        assert len(Counted.calls) == 100 + tried_out


def test_there_is_one_timer_for_a_key_in_sliding_windows_and_one_for_a_window_otherwise() -> None:
    for slide, timers in ((1, 1), (10, 1)):
        program = Program(10, slide, 0, True, 0, Sums(), None, False)
        with OperatorHarness(program.build) as harness:
            harness.push_run([("a", 1)] * 3, [5, 5, 5])
            keyed = harness._states().keyed
            assert len(keyed.timers("_timers.window.event")) == timers


def test_nothing_is_left_when_all_windows_are_over() -> None:
    for slide in (3, 10):
        program = Program(10, slide, 0, True, 4, Sums(), Counting(), False)
        with OperatorHarness(program.build) as harness:
            harness.push_run([("a", 1), ("b", 2)] * 20, list(range(40)))
            harness.watermark(100)
            for state in ("_window.contents", "_window.slices", "_window.function.fired"):
                assert harness.keys(state) == []


def test_a_function_that_cannot_merge_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    program = Program(10, 5, 0, True, 0, NotMerging(), None, False)
    with OperatorHarness(program.build) as harness:
        harness.push(("a", 1), 3)
    (logged,) = caplog.records
    assert "function=NotMerging" in logged.getMessage()
    assert "NotImplementedError" in logged.getMessage()


def subtask_of(key: str) -> int:
    return key_group(key, 128) * 2 // 128


@pytest.mark.parametrize("slide", [3, 10])
@pytest.mark.parametrize("lateness", [0, 7])
def test_key_groups_of_subtasks_that_were_differently_far_go_on_together(
    slide: int, lateness: int
) -> None:
    program = Program(10, slide, 0, True, lateness, Sums(), None, True)
    run = [((key, 1), time) for key in "abcdefgh" for time in range(0, 40, 2)]

    def go() -> list[Any]:
        taken = []
        for subtask, watermark in ((0, 12), (1, 31)):
            own = [(record, time) for record, time in run if subtask_of(record[0]) == subtask]
            with OperatorHarness(
                program.build, parallelism=2, subtask=subtask, side_outputs=[LATE]
            ) as harness:
                harness.push_run([record for record, _ in own], [time for _, time in own])
                harness.watermark(watermark)
                taken.append(harness.snapshot())
        files = taken[1].storage
        for file in files.list("memory://harness"):
            taken[0].storage.write(file, files.read(file))
        with OperatorHarness(program.build, restore=taken, side_outputs=[LATE]) as harness:
            harness.push_run([record for record, _ in run], [time for _, time in run])
            harness.watermark(20)
            harness.push_run([record for record, _ in run], [time for _, time in run])
            harness.end_input()
            return [sorted(map(repr, harness.records())), sorted(harness.side_output(LATE))]

    found = go()
    with chosen(WindowOperator):
        assert found == go()


def test_accumulators_that_a_snapshot_holds_are_not_changed_by_records_after_it() -> None:
    program = Program(10, 5, 0, True, 0, Sums(), None, False)
    with OperatorHarness(program.build) as harness:
        harness.push_run([("a", 1), ("b", 1)], [3, 4])
        taken = harness.snapshot()
        harness.push_run([("a", 5)], [3])
    with OperatorHarness(program.build, restore=taken) as harness:
        harness.watermark(4)
        assert sorted(harness.output()) == [("a", 1, 1), ("b", 1, 1)]
