"""Windows by example: what fires and when, what is late, what stays, and what a window function may do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from riverrun.api.evictor import Evictor, TimestampedValue
from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import AggregateFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    PurgingTrigger,
)
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from riverrun.api.windows import GlobalWindow, TimeWindow, Window
from riverrun.datastream.data_stream import DataStream
from riverrun.protocol.elements import MAX_WATERMARK
from riverrun.testing.harness import OperatorHarness
from tests.oracles.window_scripts import OwnEventTime, Show

LATE = OutputTag("late")
BIG = OutputTag("big")
BACKENDS = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
TEN = TumblingEventTimeWindows.of(10)


class Listed(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield key, list(elements)


def first(value: Any) -> Any:
    return value[0]


def windowed(
    assigner: WindowAssigner[Any, Any],
    function: ProcessWindowFunction[Any, Any, Any, Any] | None = None,
    **settings: Any,
) -> Callable[[DataStream], DataStream]:
    """A program with windows of records by their first field."""

    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(first).window(assigner)
        for name, value in settings.items():
            getattr(windows, name)(value)
        return windows.process(function or Listed())

    return build


class TestTime:
    def test_a_window_fires_when_the_watermark_reaches_its_last_millisecond(self) -> None:
        with OperatorHarness(windowed(TEN)) as harness:
            harness.push_run([("a", 1), ("b", 2), ("a", 3)], [1, 9, 5])
            harness.watermark(8)
            assert harness.records() == []
            harness.watermark(9)

            assert harness.records() == [(("a", [("a", 1), ("a", 3)]), 9), (("b", [("b", 2)]), 9)]
            assert harness.keys("_window.contents") == []

    def test_a_late_record_fires_its_window_again_until_lateness_is_over(self) -> None:
        build = windowed(TEN, allowed_lateness=5, side_output_late_data=LATE)
        with OperatorHarness(build, side_outputs=[LATE]) as harness:
            harness.push(("a", 1), 1)
            harness.watermark(13)
            assert harness.output() == [("a", [("a", 1)])]
            harness.push_run([("a", 2), ("a", 3)], [2, 12])
            assert harness.output() == [("a", [("a", 1), ("a", 2)])]
            harness.watermark(14)
            harness.push(("a", 4), 4)

            assert harness.output() == []
            assert harness.side_output(LATE) == [("a", 4)]

    def test_late_records_without_a_side_output_are_counted(self) -> None:
        with OperatorHarness(windowed(TEN)) as harness:
            harness.watermark(20)
            harness.push_run([("a", 1), ("a", 2), ("a", 25)], [1, 19, 25])

            assert harness.metrics()["numLateRecordsDropped"] == 2

    def test_a_record_is_not_late_while_one_of_its_windows_is_open(self) -> None:
        with OperatorHarness(windowed(SlidingEventTimeWindows.of(10, 5))) as harness:
            harness.watermark(11)
            harness.push(("a", 1), 8)
            harness.end_input()

            assert harness.records() == [(("a", [("a", 1)]), 14)]
            assert harness.metrics()["numLateRecordsDropped"] == 0

    def test_timestamps_of_the_year_9999_are_nothing_special(self) -> None:
        last_day = 253_402_214_400_000
        with OperatorHarness(windowed(TEN)) as harness:
            harness.push(("a", 1), last_day + 3)
            harness.watermark(last_day)
            harness.end_input()

            assert harness.records() == [(("a", [("a", 1)]), last_day + 9)]

    @pytest.mark.parametrize("trigger", [EventTimeTrigger(), ContinuousEventTimeTrigger(3)])
    @pytest.mark.parametrize("assigner", [TEN, EventTimeSessionWindows.with_gap(10)])
    def test_a_window_beyond_the_end_of_time_fires_at_the_end(
        self, assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any]
    ) -> None:
        build = windowed(assigner, trigger=trigger, allowed_lateness=7)
        with OperatorHarness(build) as harness:
            harness.push(("a", 1), MAX_WATERMARK - 1)
            harness.watermark(MAX_WATERMARK - 20)
            harness.end_input()

            assert harness.records()[-1] == (("a", [("a", 1)]), MAX_WATERMARK)

    def test_unbounded_lateness_keeps_windows_for_ever(self) -> None:
        with OperatorHarness(windowed(TEN, allowed_lateness=MAX_WATERMARK)) as harness:
            harness.push(("a", 1), 1)
            harness.watermark(10**12)
            harness.push(("a", 2), 2)

            assert harness.output() == [("a", [("a", 1)]), ("a", [("a", 1), ("a", 2)])]

    def test_bounded_input_fires_what_is_open(self) -> None:
        with OperatorHarness(windowed(EventTimeSessionWindows.with_gap(10))) as harness:
            harness.push_run([("a", 1), ("a", 2), ("a", 3)], [1, 30, 9])
            harness.end_input()

            assert harness.output() == [("a", [("a", 1), ("a", 3)]), ("a", [("a", 2)])]


class TestProcessingTime:
    def test_tumbling_windows_fire_when_their_time_has_passed(self) -> None:
        build = windowed(TumblingProcessingTimeWindows.of(10))
        with OperatorHarness(build, start=7) as harness:
            harness.push(("a", 1))
            harness.advance_clock(2)
            harness.push(("a", 2))
            assert harness.output() == []
            harness.advance_clock(1)
            harness.push(("a", 3))

            assert harness.records() == [(("a", [("a", 1), ("a", 2)]), 9)]

    def test_sliding_windows_overlap(self) -> None:
        build = windowed(SlidingProcessingTimeWindows.of(10, 5))
        with OperatorHarness(build, start=12) as harness:
            harness.push_run([("a", 1), ("b", 2)])
            harness.advance_clock(100)

            assert harness.records() == [
                (("a", [("a", 1)]), 14),
                (("b", [("b", 2)]), 14),
                (("a", [("a", 1)]), 19),
                (("b", [("b", 2)]), 19),
            ]

    @BACKENDS
    def test_sessions_end_after_the_gap_also_when_nothing_arrives(self, backend: str) -> None:
        build = windowed(ProcessingTimeSessionWindows.with_gap(10), Show())
        with OperatorHarness(build, backend=backend, start=100) as harness:
            harness.push(("a", (1,)))
            harness.advance_clock(8)
            harness.push(("a", (2,)))
            harness.advance_clock(9)
            assert harness.output() == []
            harness.advance_clock(1)

            assert harness.records() == [(("a", (100, 118), (1, 2)), 117)]

    def test_a_gap_of_one_millisecond_is_a_gap(self) -> None:
        build = windowed(ProcessingTimeSessionWindows.with_gap(1))
        with OperatorHarness(build, start=5) as harness:
            harness.push_run([("a", 1), ("a", 2)])
            harness.advance_clock(1)

            assert harness.output() == [("a", [("a", 1), ("a", 2)])]

    def test_a_continuous_trigger_fires_at_multiples_and_at_the_end(self) -> None:
        build = windowed(
            TumblingProcessingTimeWindows.of(20), trigger=ContinuousProcessingTimeTrigger(8)
        )
        with OperatorHarness(build, start=1) as harness:
            harness.push(("a", 1))
            harness.advance_clock(50)

            assert len(harness.output()) == 3  # at 8, 16 and 19
            assert harness.keys("_window.trigger.fire-time") == []

    def test_there_is_no_lateness(self) -> None:
        with OperatorHarness(windowed(TumblingProcessingTimeWindows.of(10))) as harness:
            harness.watermark(1000)
            harness.push(("a", 1), 1)
            harness.advance_clock(10)

            assert harness.output() == [("a", [("a", 1)])]


class TestCounts:
    @BACKENDS
    def test_full_windows_fire_and_partial_ones_never_do(self, backend: str) -> None:
        def build(stream: DataStream) -> DataStream:
            return stream.key_by(first).count_window(2).process(Listed())

        with OperatorHarness(build, backend=backend) as harness:
            harness.push_run([("a", 1), ("b", 2), ("a", 3), ("a", 4)])
            harness.end_input()

            assert harness.records() == [(("a", [("a", 1), ("a", 3)]), MAX_WATERMARK)]

    def test_sliding_windows_fire_when_they_are_full(self) -> None:
        def build(stream: DataStream) -> DataStream:
            return stream.key_by(first).count_window(3, 2).process(Listed())

        with OperatorHarness(build) as harness:
            harness.push_run([("a", n) for n in range(8)])

            found = [[n for _, n in records] for _, records in harness.output()]
            assert found == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]

    def test_a_count_trigger_with_an_evictor_slides_as_in_java(self) -> None:
        build = windowed(
            GlobalWindows.create(), trigger=CountTrigger(2), evictor=CountEvictor.of(3)
        )
        with OperatorHarness(build) as harness:
            harness.push_run([("a", n) for n in range(6)])

            found = [[n for _, n in records] for _, records in harness.output()]
            assert found == [[0, 1], [1, 2, 3], [3, 4, 5]]


class TestGlobalWindows:
    def test_the_end_of_the_stream_is_the_end_of_the_window(self) -> None:
        build = windowed(GlobalWindows.create(), trigger=EndOfStreamTrigger())
        with OperatorHarness(build) as harness:
            harness.push_run([("a", 1), ("a", 2)], [1, 2])
            harness.watermark(10**9)
            assert harness.output() == []
            harness.end_input()

            assert harness.output() == [("a", [("a", 1), ("a", 2)])]

    def test_a_trigger_that_always_sets_a_next_timer_comes_to_an_end(self) -> None:
        build = windowed(GlobalWindows.create(), trigger=ContinuousEventTimeTrigger(10))
        with OperatorHarness(build) as harness:
            harness.push(("a", 1), 1)
            harness.watermark(25)
            assert len(harness.output()) == 2  # at 10 and 20
            harness.end_input()

            assert len(harness.output()) == 2  # at 30 and at the end


class Counting(ProcessWindowFunction[Any, Any, Any, Any]):
    """Counts firings per window and per key."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.fired = ValueStateDescriptor("count")

    def open(self, runtime_context: RuntimeContext) -> None:
        self.log.append("open")

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        here = context.window_state().get_state(self.fired)
        overall = context.global_state().get_state(self.fired)
        here.update((here.value() or 0) + 1)
        overall.update((overall.value() or 0) + 1)
        yield key, context.window().start, here.value(), overall.value()
        yield "at", context.current_watermark(), context.current_processing_time()

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        context.window_state().get_state(self.fired).clear()

    def close(self) -> None:
        self.log.append("close")


class TestFunctions:
    @BACKENDS
    def test_a_window_has_state_of_its_own_and_shares_that_of_its_key(self, backend: str) -> None:
        build = windowed(TEN, Counting(), trigger=CountTrigger(1))
        with OperatorHarness(build, backend=backend, start=7) as harness:
            harness.push_run([("a", 1), ("a", 2), ("a", 13)], [1, 2, 13])

            firings = [value for value in harness.output() if value[0] == "a"]
            assert firings == [("a", 0, 1, 1), ("a", 0, 2, 2), ("a", 10, 1, 3)]
            snapshot = harness.snapshot()
        with OperatorHarness(build, backend=backend, start=7, restore=snapshot) as harness:
            harness.push(("a", 4), 4)
            assert harness.output()[0] == ("a", 0, 3, 4)
            harness.end_input()

            assert harness.keys("_window.function.count") == []
            assert harness.keys("_window.trigger.count") == []
            assert harness.keys("count") == ["a"]

    def test_side_outputs_have_the_time_of_the_window(self) -> None:
        class Sorting(WindowFunction[Any, Any, Any, Any]):
            def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
                for value in inputs:
                    yield (BIG, value[1]) if value[1] > 5 else value[1]

        def build(stream: DataStream) -> DataStream:
            return stream.key_by(first).window(TEN).apply(Sorting())

        with OperatorHarness(build, side_outputs=[BIG]) as harness:
            harness.push_run([("a", 3), ("a", 9), ("a", 4)], [1, 2, 3])
            harness.end_input()

            assert harness.records() == [(3, 9), (4, 9)]
            assert harness.side_output(BIG) == [9]

    def test_functions_of_all_windows_are_given_no_key(self) -> None:
        class Apply(AllWindowFunction[Any, Any, Any]):
            def apply(self, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
                yield window.start, sorted(inputs)

        class Process(ProcessAllWindowFunction[Any, Any, Any]):
            def process(
                self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]
            ) -> Iterator[Any]:
                yield context.window().start, sorted(elements)

        for build in (
            lambda stream: stream.window_all(TEN).apply(Apply()),
            lambda stream: stream.window_all(TEN).process(Process()),
        ):
            with OperatorHarness(build) as harness:
                harness.push_run([3, 1, 2], [3, 1, 12])
                harness.end_input()

                assert harness.output() == [(0, [1, 3]), (10, [2])]

    def test_none_is_a_record_like_any_other(self) -> None:
        def build(stream: DataStream) -> DataStream:
            return stream.key_by(lambda _: 0).window(TEN).process(Listed())

        with OperatorHarness(build) as harness:
            harness.push_run([None, 1], [1, 2])
            harness.push(None, 3)
            harness.end_input()

            assert harness.output() == [(0, [None, 1, None])]

    def test_an_aggregate_that_gives_nothing_emits_nothing(self) -> None:
        class EvenSum(AggregateFunction):
            def create_accumulator(self) -> int:
                return 0

            def add(self, value: Any, accumulator: int) -> int:
                return accumulator + int(value[1])

            def get_result(self, accumulator: int) -> int | None:
                return accumulator if accumulator % 2 == 0 else None

            def merge(self, acc_a: int, acc_b: int) -> int:
                return acc_a + acc_b

        def build(stream: DataStream) -> DataStream:
            sessions = EventTimeSessionWindows.with_gap(10)
            return stream.key_by(first).window(sessions).aggregate(EvenSum())

        with OperatorHarness(build) as harness:
            harness.push_run([("a", 1), ("a", 2), ("a", 4)], [1, 2, 40])
            harness.end_input()

            assert harness.output() == [4]


class TestChangingValues:
    def test_a_reduce_function_may_change_its_first_value(self) -> None:
        def grow(one: Any, two: Any) -> Any:
            one[1].extend(two[1])
            return one

        def build(stream: DataStream) -> DataStream:
            windows = stream.key_by(first).window(SlidingEventTimeWindows.of(10, 5))
            return windows.trigger(OwnEventTime()).reduce(grow)

        with OperatorHarness(build) as harness:
            harness.push_run([("a", [1]), ("a", [2])], [7, 8])
            harness.end_input()

            assert harness.output() == [("a", [1, 2]), ("a", [1, 2])]

    def test_what_came_out_does_not_change_any_more(self) -> None:
        class Gather(AggregateFunction):
            def create_accumulator(self) -> list[Any]:
                return []

            def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
                accumulator.append(value[1])
                return accumulator

            def get_result(self, accumulator: list[Any]) -> list[Any]:
                return accumulator

            def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
                return acc_a + acc_b

        def build(stream: DataStream) -> DataStream:
            return stream.key_by(first).window(TEN).trigger(CountTrigger(1)).aggregate(Gather())

        with OperatorHarness(build) as harness:
            harness.push_run([("a", 1), ("a", 2)], [1, 2])

            assert harness.output() == [[1], [1, 2]]


class TestEvictors:
    def test_what_an_evictor_takes_out_is_gone(self) -> None:
        build = windowed(TEN, trigger=CountTrigger(2), evictor=CountEvictor.of(1, True))
        with OperatorHarness(build) as harness:
            harness.push_run([("a", n) for n in range(4)], [1, 2, 3, 4])

            assert harness.output() == [
                ("a", [("a", 0), ("a", 1)]),
                ("a", [("a", 1), ("a", 2), ("a", 3)]),
            ]

    def test_times_are_there_if_records_have_any(self) -> None:
        times: list[int | None] = []

        class Watching(Evictor[Any, Any]):
            def evict_before(
                self,
                elements: list[TimestampedValue[Any]],
                size: int,
                window: Any,
                evictor_context: Evictor.EvictorContext,
            ) -> None:
                times.extend(element.timestamp for element in elements)
                assert size == len(elements)
                assert evictor_context.get_current_processing_time() == 0
                elements.clear()

            def evict_after(
                self,
                elements: list[TimestampedValue[Any]],
                size: int,
                window: Any,
                evictor_context: Evictor.EvictorContext,
            ) -> None:
                assert size == 0

        build = windowed(GlobalWindows.create(), trigger=CountTrigger(1), evictor=Watching())
        with OperatorHarness(build) as harness:
            harness.push(("a", 1), 5)
            harness.push(("a", 2))

            assert times == [5, None]
            assert harness.output() == [("a", []), ("a", [])]

    def test_nothing_left_to_reduce_is_no_result(self) -> None:
        class Emptying(CountEvictor[Any, Any]):
            def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
                elements.clear()

        def build(stream: DataStream) -> DataStream:
            windows = stream.key_by(first).window(TEN).evictor(Emptying(1))
            return windows.reduce(lambda one, _: one)

        with OperatorHarness(build) as harness:
            harness.push(("a", 1), 1)
            harness.end_input()

            assert harness.output() == []


@dataclass(frozen=True)
class Lap(Window):
    """A window of a class that riverrun does not know."""

    number: int

    def max_timestamp(self) -> int:
        return self.number * 100 + 99


class Laps(WindowAssigner[Any, Lap]):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[Lap]:
        assert context.get_current_processing_time() == 0
        assert context.get_runtime_context().get_index_of_this_subtask() == 0
        return [Lap(timestamp // 100)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Lap]:
        trigger: Trigger[Any, Any] = EventTimeTrigger()
        return trigger

    def get_window_serializer(self) -> Any:
        return None

    def is_event_time(self) -> bool:
        return True


class TestOwnKinds:
    @BACKENDS
    def test_windows_of_an_own_class_survive_a_restart(self, backend: str) -> None:
        with OperatorHarness(windowed(Laps()), backend=backend) as harness:
            harness.push_run([("a", 1), ("a", 2)], [30, 130])
            snapshot = harness.snapshot()
        with OperatorHarness(windowed(Laps()), backend=backend, restore=snapshot) as harness:
            harness.push(("a", 3), 40)
            harness.watermark(99)

            assert harness.records() == [(("a", [("a", 1), ("a", 3)]), 99)]

    def test_a_trigger_may_fire_and_purge_and_only_purge(self) -> None:
        class Scripted(PurgingTrigger[Any, Any]):
            def __init__(self) -> None:
                super().__init__(CountTrigger(100))

            def on_element(
                self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
            ) -> TriggerResult:
                ctx.get_metric_group().counter("asked").inc()
                return TriggerResult[element[1]]

        with OperatorHarness(windowed(GlobalWindows.create(), trigger=Scripted())) as harness:
            script = ["CONTINUE", "FIRE", "PURGE", "FIRE", "FIRE_AND_PURGE", "FIRE"]
            harness.push_run([("a", word) for word in script])

            assert [[word for _, word in records] for _, records in harness.output()] == [
                ["CONTINUE", "FIRE"],
                ["FIRE"],
                ["FIRE", "FIRE_AND_PURGE"],
                ["FIRE"],
            ]
            assert harness.metrics()["asked"] == 6

    def test_windows_know_what_they_are(self) -> None:
        class Kinds(ProcessWindowFunction[Any, Any, Any, Any]):
            def process(
                self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
            ) -> Iterator[Any]:
                yield context.window()

        build = windowed(GlobalWindows.create(), Kinds(), trigger=CountTrigger(1))
        with OperatorHarness(build) as harness:
            harness.push(("a", 1))
            assert harness.output() == [GlobalWindow.get()]
        with OperatorHarness(windowed(TEN, Kinds())) as harness:
            harness.push(("a", 1), 11)
            harness.end_input()
            assert harness.output() == [TimeWindow(10, 20)]
