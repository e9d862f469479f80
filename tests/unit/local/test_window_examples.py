"""Windows as the guide explains them: whole programs with small data, and what comes out.

Event time is in the data: ``watermark(t)`` between records says how far it has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from riverrun.api.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from riverrun.api.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.triggers import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    PurgingTrigger,
)
from riverrun.api.watermark_generator import WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.windows import TimeWindow
from riverrun.core.errors import JobFailed
from riverrun.core.options import RuntimeExecutionMode
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.data_stream_utils import reinterpret_as_keyed_stream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.windowed import WindowedStream


class Click(NamedTuple):
    """Somebody did something at a time."""

    user: str
    time: int
    value: Any = 1


def watermark(time: int) -> Click:
    """Not a record: event time has come so far."""
    return Click("", time, None)


class AsTheDataSay(WatermarkGenerator):
    def on_event(self, event: Click, event_timestamp: int, output: WatermarkOutput) -> None:
        if not event.user:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Only the data count."""


class Shown(ProcessWindowFunction[Any, Any, str, Any]):
    """Key, start and end of the window, and the values in it."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        window = context.window()
        values = [getattr(element, "value", element) for element in elements]
        if isinstance(window, TimeWindow):
            yield key, window.start, window.end, values
        else:
            yield key, values


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment({"riverrun.master": "in-process"})
    env.set_parallelism(1)
    yield env
    env.close()


def clicks(env: StreamExecutionEnvironment, *events: Click) -> DataStream:
    strategy = WatermarkStrategy.for_generator(AsTheDataSay).with_timestamp_assigner(
        lambda event, _: event.time
    )
    timed = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    return timed.filter(lambda event: bool(event.user))


def by_user(stream: DataStream) -> Any:
    return stream.key_by(lambda click: click.user)


def results(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as rows:
        return list(rows)


def test_tumbling_windows_hold_each_record_once(env: StreamExecutionEnvironment) -> None:
    stream = clicks(
        env,
        Click("ann", 1_000, "a"),
        Click("bob", 4_999, "b"),
        Click("ann", 5_000, "c"),
        Click("ann", 2_000, "d"),
        watermark(5_000),
        Click("ann", 11_000, "e"),
    )
    windows = by_user(stream).window(TumblingEventTimeWindows.of(Time.seconds(5)))

    assert results(windows.process(Shown())) == [
        ("ann", 0, 5_000, ["a", "d"]),
        ("bob", 0, 5_000, ["b"]),
        ("ann", 5_000, 10_000, ["c"]),
        ("ann", 10_000, 15_000, ["e"]),
    ]


def test_days_of_a_time_zone_begin_at_its_midnight(env: StreamExecutionEnvironment) -> None:
    hour = 3_600_000
    stream = clicks(env, Click("li", 15 * hour, "on day one"), Click("li", 17 * hour, "on day two"))
    windows = by_user(stream).window(TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8)))

    assert [values for *_, values in results(windows.process(Shown()))] == [
        ["on day one"],
        ["on day two"],
    ]


def test_sliding_windows_hold_a_record_as_often_as_they_overlap(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(env, Click("ann", 6, 10), Click("ann", 12, 5), Click("ann", 30, 1))
    windows = by_user(stream).window(
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    )

    assert results(windows.process(Shown())) == [
        ("ann", 0, 10, [10]),
        ("ann", 5, 15, [10, 5]),
        ("ann", 10, 20, [5]),
        ("ann", 25, 35, [1]),
        ("ann", 30, 40, [1]),
    ]


def test_a_session_ends_when_there_is_nothing_for_the_gap(env: StreamExecutionEnvironment) -> None:
    stream = clicks(
        env,
        Click("ann", 0, "a"),
        Click("bob", 5, "b"),
        Click("ann", 9, "c"),
        Click("ann", 30, "d"),
        watermark(25),
        Click("bob", 26, "e"),
    )
    windows = by_user(stream).window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))

    assert results(windows.process(Shown())) == [
        ("bob", 5, 15, ["b"]),
        ("ann", 0, 19, ["a", "c"]),
        ("bob", 26, 36, ["e"]),
        ("ann", 30, 40, ["d"]),
    ]


def test_a_late_record_can_join_two_sessions_into_one(env: StreamExecutionEnvironment) -> None:
    stream = clicks(env, Click("ann", 0, 1), Click("ann", 18, 2), Click("ann", 9, 4))
    windows = by_user(stream).window(EventTimeSessionWindows.with_gap(10))

    assert results(windows.reduce(lambda a, b: Click(a.user, 0, a.value + b.value), Shown())) == [
        ("ann", 0, 28, [7])
    ]


def test_a_record_may_say_how_long_its_session_waits(env: StreamExecutionEnvironment) -> None:
    stream = clicks(env, Click("ann", 0, 5), Click("ann", 6, 20), Click("ann", 20, 5))
    windows = by_user(stream).window(
        DynamicEventTimeSessionWindows.with_dynamic_gap(lambda click: click.value)
    )

    assert results(windows.process(Shown())) == [("ann", 0, 5, [5]), ("ann", 6, 26, [20, 5])]


def test_a_gap_of_nothing_ends_the_job_with_the_record(env: StreamExecutionEnvironment) -> None:
    windows = by_user(clicks(env, Click("ann", 7, 0))).window(
        EventTimeSessionWindows.with_dynamic_gap(lambda click: click.value)
    )

    with pytest.raises(JobFailed, match=r"the gap of the record .*'ann'.* is 0"):
        results(windows.process(Shown()))


def test_event_time_windows_without_timestamps_end_the_job_with_advice(
    env: StreamExecutionEnvironment,
) -> None:
    windows = by_user(env.from_collection([Click("ann", 7)])).window(
        TumblingEventTimeWindows.of(Time.seconds(5))
    )

    with pytest.raises(JobFailed, match="assign_timestamps_and_watermarks"):
        results(windows.process(Shown()))


def test_count_windows_give_full_windows_only(env: StreamExecutionEnvironment) -> None:
    def five() -> Any:
        return by_user(clicks(env, *(Click("ann", 0, number) for number in range(5))))

    assert results(five().count_window(2).process(Shown())) == [("ann", [0, 1]), ("ann", [2, 3])]
    assert results(five().count_window(3, 1).process(Shown())) == [
        ("ann", [0, 1, 2]),
        ("ann", [1, 2, 3]),
        ("ann", [2, 3, 4]),
    ]
    assert results(five().count_window(1, 2).process(Shown())) == [
        ("ann", [0]),
        ("ann", [2]),
        ("ann", [4]),
    ]


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Click, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_incremental_functions_hand_their_result_to_a_window_function(
    env: StreamExecutionEnvironment,
) -> None:
    def windows() -> WindowedStream[DataStream]:
        stream = clicks(env, Click("ann", 1, 3), Click("ann", 2, 1), Click("bob", 3, 4))
        by_key: WindowedStream[DataStream] = by_user(stream).window(TumblingEventTimeWindows(10, 0))
        return by_key

    def smallest(a: Click, b: Click) -> Click:
        return a if a.value <= b.value else b

    assert results(windows().reduce(smallest)) == [Click("ann", 2, 1), Click("bob", 3, 4)]
    assert results(windows().reduce(smallest, Shown())) == [
        ("ann", 0, 10, [1]),
        ("bob", 0, 10, [4]),
    ]
    assert results(windows().aggregate(Mean())) == [2.0, 4.0]
    assert results(windows().aggregate(Mean(), Shown())) == [
        ("ann", 0, 10, [2.0]),
        ("bob", 0, 10, [4.0]),
    ]
    assert results(windows().max_by("value")) == [Click("ann", 1, 3), Click("bob", 3, 4)]
    assert results(windows().sum(2)) == [Click("ann", 1, 4), Click("bob", 3, 4)]


class Counted(WindowFunction[Any, Any, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Any]) -> Iterator[Any]:
        yield key, window.max_timestamp(), len(list(inputs))


def test_a_window_function_gets_key_window_and_records(env: StreamExecutionEnvironment) -> None:
    stream = clicks(env, Click("ann", 1), Click("ann", 2), Click("bob", 3))
    windows = by_user(stream).window(TumblingEventTimeWindows(10, 0))

    assert results(windows.apply(Counted())) == [("ann", 9, 2), ("bob", 9, 1)]


LATE = OutputTag("late")


def lateness_example(env: StreamExecutionEnvironment) -> DataStream:
    """Windows of five minutes that are kept for one more (a minute is 60 here)."""
    stream = clicks(
        env,
        Click("ann", 0, "in time"),
        watermark(299),
        Click("ann", 200, "late"),
        watermark(358),
        Click("ann", 299, "very late"),
        watermark(359),
        Click("ann", 299, "too late"),
        Click("ann", 300, "next window"),
    )
    windows = by_user(stream).window(TumblingEventTimeWindows(300, 0)).allowed_lateness(60)
    return windows.side_output_late_data(LATE).process(Shown())  # type: ignore[no-any-return]


def test_each_late_record_within_the_allowed_lateness_fires_again(
    env: StreamExecutionEnvironment,
) -> None:
    assert results(lateness_example(env)) == [
        ("ann", 0, 300, ["in time"]),
        ("ann", 0, 300, ["in time", "late"]),
        ("ann", 0, 300, ["in time", "late", "very late"]),
        ("ann", 300, 600, ["next window"]),
    ]


def test_a_record_after_that_goes_to_the_late_output(env: StreamExecutionEnvironment) -> None:
    late = lateness_example(env).get_side_output(LATE)

    assert [click.value for click in results(late)] == ["too late"]


def test_a_purging_trigger_gives_only_what_is_new_with_a_late_firing(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(
        env,
        Click("ann", 1, "a"),
        watermark(9),
        Click("ann", 2, "b"),
        Click("ann", 3, "c"),
    )
    windows = by_user(stream).window(TumblingEventTimeWindows(10, 0)).allowed_lateness(100)

    assert results(windows.trigger(PurgingTrigger.of(EventTimeTrigger())).process(Shown())) == [
        ("ann", 0, 10, ["a"]),
        ("ann", 0, 10, ["b"]),
        ("ann", 0, 10, ["c"]),
    ]


def test_a_late_record_that_joins_fired_sessions_fires_the_whole(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(
        env,
        Click("ann", 0, "a"),
        Click("ann", 15, "b"),
        watermark(30),
        Click("ann", 8, "c"),
    )
    windows = by_user(stream).window(EventTimeSessionWindows.with_gap(10)).allowed_lateness(100)

    assert [(s, e, sorted(values)) for _, s, e, values in results(windows.process(Shown()))] == [
        (0, 10, ["a"]),
        (15, 25, ["b"]),
        (0, 25, ["a", "b", "c"]),
    ]


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (CountTrigger.of(2), [[0, 1], [0, 1, 2, 3]]),
        (PurgingTrigger.of(CountTrigger.of(2)), [[0, 1], [2, 3]]),
    ],
)
def test_a_firing_keeps_the_contents_unless_it_purges(
    env: StreamExecutionEnvironment, trigger: Any, expected: list[list[int]]
) -> None:
    stream = clicks(env, *(Click("ann", number, number) for number in range(5)))
    windows = by_user(stream).window(GlobalWindows.create()).trigger(trigger)

    assert [values for _, values in results(windows.process(Shown()))] == expected


def test_a_count_trigger_in_time_windows_replaces_the_firing_at_their_end(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(env, *(Click("ann", number, number) for number in range(3)))
    windows = by_user(stream).window(TumblingEventTimeWindows(10, 0)).trigger(CountTrigger(2))

    assert results(windows.process(Shown())) == [("ann", 0, 10, [0, 1])]


def test_a_continuous_trigger_gives_early_results(env: StreamExecutionEnvironment) -> None:
    stream = clicks(
        env,
        Click("ann", 1, "a"),
        watermark(10),
        Click("ann", 12, "b"),
        watermark(15),
        Click("ann", 25, "c"),
        watermark(20),
    )
    windows = by_user(stream).window(TumblingEventTimeWindows(30, 0))

    assert results(windows.trigger(ContinuousEventTimeTrigger.of(10)).process(Shown())) == [
        ("ann", 0, 30, ["a"]),
        ("ann", 0, 30, ["a", "b", "c"]),
        ("ann", 0, 30, ["a", "b", "c"]),
    ]


def test_global_windows_fire_with_a_trigger_or_at_the_end_if_asked_to(
    env: StreamExecutionEnvironment,
) -> None:
    def two() -> Any:
        return by_user(clicks(env, Click("ann", 1, "a"), Click("ann", 2, "b")))

    assert results(two().window(GlobalWindows.create()).process(Shown())) == []
    ending = GlobalWindows.create_with_end_of_stream_trigger()
    assert results(two().window(ending).process(Shown())) == [("ann", ["a", "b"])]


def test_evictors_decide_what_a_firing_sees_and_what_stays(env: StreamExecutionEnvironment) -> None:
    def fired(evictor: Any, *records: tuple[int, int]) -> list[list[int]]:
        stream = clicks(env, *(Click("ann", time, value) for time, value in records))
        windows = by_user(stream).window(GlobalWindows.create()).trigger(CountTrigger(2))
        return [values for _, values in results(windows.evictor(evictor).process(Shown()))]

    five = [(0, 1), (10, 2), (20, 3), (30, 4), (31, 5), (32, 90)]
    assert fired(CountEvictor.of(3), *five) == [[1, 2], [2, 3, 4], [4, 5, 90]]
    assert fired(CountEvictor.of(1, do_evict_after=True), *five) == [[1, 2], [2, 3, 4], [4, 5, 90]]
    assert fired(TimeEvictor.of(Time.milliseconds(15)), *five) == [[1, 2], [3, 4], [3, 4, 5, 90]]
    by_value = DeltaEvictor.of(50, lambda a, b: abs(a.value - b.value))
    assert fired(by_value, *five) == [[1, 2], [1, 2, 3, 4], [90]]


def test_an_incremental_function_beside_an_evictor_sees_what_is_left(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(env, *(Click("ann", 1, value) for value in (1, 2, 4)))
    windows = by_user(stream).window(TumblingEventTimeWindows(10, 0)).evictor(CountEvictor.of(2))

    assert [click.value for click in results(windows.sum(2))] == [6]


def test_the_last_miles_of_each_car_are_reported_every_so_many_miles(
    env: StreamExecutionEnvironment,
) -> None:
    miles = [0, 4, 11, 13, 25, 26]
    stream = clicks(env, *(Click("car", time, at) for time, at in enumerate(miles)))
    windows = by_user(stream).window(GlobalWindows.create())
    fired = (
        windows.trigger(DeltaTrigger.of(10, lambda old, new: new.value - old.value))
        .evictor(TimeEvictor.of(2))
        .process(Shown())
    )

    assert results(fired) == [("car", [4, 11]), ("car", [13, 25])]


class Firings(ProcessWindowFunction[Any, Any, str, TimeWindow]):
    """How often this window has fired, how often any window of the key has, and the watermark."""

    of_window = ValueStateDescriptor("of this window")
    of_key = ValueStateDescriptor("of all windows")

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterator[Any]:
        mine = context.window_state().get_state(self.of_window)
        every = context.global_state().get_state(self.of_key)
        mine.update((mine.value() or 0) + 1)
        every.update((every.value() or 0) + 1)
        yield context.window().start, mine.value(), every.value(), context.current_watermark()

    def clear(self, context: ProcessWindowFunction.Context[TimeWindow]) -> None:
        context.window_state().get_state(self.of_window).clear()


def test_a_process_function_has_state_of_the_window_and_of_the_key(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(
        env,
        Click("ann", 1),
        watermark(9),
        Click("ann", 2),
        Click("ann", 11),
        watermark(19),
    )
    windows = by_user(stream).window(TumblingEventTimeWindows(10, 0)).allowed_lateness(5)

    assert results(windows.process(Firings())) == [(0, 1, 1, 9), (0, 2, 2, 9), (10, 1, 3, 19)]


class Best(AllWindowFunction[Any, Any, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Any]) -> Iterator[Any]:
        yield window.start, sorted(inputs, key=lambda click: -click.value)[:2]


def test_results_of_a_window_fall_into_the_same_window_of_the_next_operator(
    env: StreamExecutionEnvironment,
) -> None:
    stream = clicks(
        env,
        *(
            Click(user, time, 1)
            for user, time in zip("aabbbcd", (1, 2, 1, 3, 4, 9, 12), strict=True)
        ),
    )
    per_user = by_user(stream).window(TumblingEventTimeWindows(10, 0)).sum(2)
    best = per_user.window_all(TumblingEventTimeWindows(10, 0)).apply(Best())

    assert [(start, [(c.user, c.value) for c in top]) for start, top in results(best)] == [
        (0, [("b", 3), ("a", 2)]),
        (10, [("d", 1)]),
    ]


class ShownAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(
        self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        del context
        yield sorted(element.value for element in elements)


def test_windows_of_all_records_gather_them_from_every_subtask(
    env: StreamExecutionEnvironment,
) -> None:
    env.set_parallelism(3)
    stream = clicks(env, *(Click(str(n % 4), n, n) for n in range(20))).rebalance()
    windows = stream.map(lambda click: click).window_all(TumblingEventTimeWindows(10, 0))

    # Three subtasks collect what the one for windows gives, in no order between them.
    assert sorted(results(windows.process(ShownAll()))) == [list(range(10)), list(range(10, 20))]


def test_count_windows_of_all_records_do_not_care_for_keys(env: StreamExecutionEnvironment) -> None:
    counted = clicks(env, *(Click(f"user {n}", n, n) for n in range(5))).count_window_all(2)

    assert results(counted.process(ShownAll())) == [[0, 1], [2, 3]]


def test_in_batch_mode_nothing_is_late_and_windows_fire_once(
    env: StreamExecutionEnvironment,
) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = clicks(
        env,
        Click("ann", 1, "a"),
        watermark(500),
        Click("ann", 2, "late while streaming"),
        Click("ann", 11, "b"),
    )
    windows = by_user(stream).window(TumblingEventTimeWindows(10, 0))

    assert results(windows.process(Shown())) == [
        ("ann", 0, 10, ["a", "late while streaming"]),
        ("ann", 10, 20, ["b"]),
    ]


@pytest.mark.parametrize(
    "assigner",
    [TumblingProcessingTimeWindows.of(Time.days(1)), ProcessingTimeSessionWindows.with_gap(10**6)],
)
def test_windows_of_the_wall_clock_fire_at_the_end_in_batch_mode_only(
    env: StreamExecutionEnvironment, assigner: Any
) -> None:
    def values() -> list[Any]:
        stream = by_user(clicks(env, Click("ann", 1, "a"), Click("ann", 2, "b")))
        return [found for *_, found in results(stream.window(assigner).process(Shown()))]

    assert values() == []
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert values() == [["a", "b"]]


def test_a_reinterpreted_stream_keeps_state_by_its_keys(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    stream = clicks(env, *(Click(f"user {n % 7}", n) for n in range(70)))
    per_user = by_user(stream).sum(2).filter(lambda click: click.value % 5 == 0)

    again = reinterpret_as_keyed_stream(per_user, lambda click: click.user).max(2)

    assert sorted((c.user, c.value) for c in results(again)) == sorted(
        (f"user {n}", value) for n in range(7) for value in (5, 10)
    )


def test_a_reinterpreted_stream_that_is_not_partitioned_ends_the_job_with_the_key(
    env: StreamExecutionEnvironment,
) -> None:
    env.set_parallelism(2)
    stream = clicks(env, *(Click(f"user {n}", n) for n in range(20))).map(lambda click: click)

    again = reinterpret_as_keyed_stream(stream, lambda click: click.user).sum(2)

    with pytest.raises(JobFailed, match=r"got a record with the key 'user \d+'.*use key_by\(\)"):
        results(again)
