"""Programs with timers, late records and idle sources, and what they must give."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.column_aggregates import Agg
from riverrun.api.nesting_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from riverrun.api.output_tag import OutputTag
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.timer_service import TimeDomain
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.triggers import ContinuousEventTimeTrigger, EventTimeTrigger
from riverrun.api.watermark_generator import WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.core.time import Duration, Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.data_stream_utils import reinterpret_as_keyed_stream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.oracles.windows import FOREVER, Record, Shape, final_windows
from tests.unit.testing.event_time_streams import (
    ALL_OVER,
    IN_ORDER,
    IN_TIME,
    LATE,
    SETTLED,
    Each,
    EachOnce,
    Numbers,
    Simulated,
    TimeOf,
    Together,
    key_of,
    once,
    strategy,
    stream,
    with_idle_splits,
    with_late,
)
from tests.unit.testing.skewed_source import DISORDER, SkewedSource, skewed
from tests.unit.testing.window_programs import EveryThird, each_of, sets_of

ODD = OutputTag("odd")


# Timers of functions


class Sorted(KeyedProcessFunction):
    """A key's records in the order of their times, numbered: nothing is late, so that is one order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_map_state(MapStateDescriptor("held"))
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self.held.put(value.time, sorted([*(self.held.get(value.time) or []), value.number]))
        ctx.timer_service().register_event_time_timer(value.time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        for number in self.held.get(timestamp) or []:
            self.count.update((self.count.value() or 0) + 1)
            yield ctx.get_current_key(), self.count.value(), timestamp, number
        self.held.remove(timestamp)


def sorted_by_timers(env: StreamExecutionEnvironment) -> DataStream:
    return stream(env).key_by(key_of).process(Sorted())


def in_sorted_order() -> Counter[Any]:
    found: Counter[Any] = Counter()
    for key in {record.key for record in IN_TIME}:
        of_key = sorted((r.time, r.number) for r in IN_TIME if r.key == key)
        for nth, (time, number) in enumerate(of_key, start=1):
            found[key, nth, time, number] += 1
    return found


class Quiet(KeyedProcessFunction):
    """Sessions by hand, of records in order: each moves the key's only timer on.

    A record that is beyond the timer may come before the watermark that lets it fire, or after it.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_list_state(ListStateDescriptor("held"))
        self.ends = runtime_context.get_state(ValueStateDescriptor("ends", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, _, time, number = value
        timers = ctx.timer_service()
        ends = self.ends.value()
        if ends is not None:
            timers.delete_event_time_timer(ends)
            if time > ends:
                yield from self._over(key, ends)
        self.ends.update(time + 4)
        timers.register_event_time_timer(time + 4)
        self.held.add(number)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        return self._over(ctx.get_current_key(), timestamp)

    def _over(self, key: Any, ends: int) -> Iterator[Any]:
        yield key, ends, tuple(sorted(self.held.get()))
        self.held.clear()
        self.ends.clear()


def deleted_timers(env: StreamExecutionEnvironment) -> DataStream:
    return sorted_by_timers(env).key_by(lambda each: each[0]).process(Quiet())


def quiet_times() -> Counter[Any]:
    windows = final_windows(Shape("session", 4), IN_TIME)
    return Counter((w.key, w.window[1], tuple(sorted(w.numbers))) for w in windows)


class InBursts(KeyedProcessFunction):
    """Holds records back for some milliseconds of the wall clock, the last ones to the end of input."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_list_state(ListStateDescriptor("held"))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        self.held.add(value.number)
        timers.register_processing_time_timer(timers.current_processing_time() // 7 * 7 + 7)
        timers.register_event_time_timer(FOREVER)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if ctx.time_domain() is TimeDomain.PROCESSING_TIME:
            assert timestamp % 7 == 0
        for number in self.held.get():
            shown = (ctx.get_current_key(), number)
            yield (ODD, shown) if number % 2 else shown
        self.held.clear()


def in_bursts(env: StreamExecutionEnvironment) -> DataStream:
    made = stream(env).key_by(key_of).process(InBursts())
    return made.union(made.get_side_output(ODD))


class Later(KeyedProcessFunction):
    """Each record again when its gap is over."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_map_state(MapStateDescriptor("held"))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        due = value.time + value.gap
        self.held.put(due, sorted([*(self.held.get(due) or []), value.number]))
        ctx.timer_service().register_event_time_timer(due)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, tuple(self.held.get(timestamp) or ())
        self.held.remove(timestamp)


def settled_timers(env: StreamExecutionEnvironment) -> DataStream:
    return stream(env, SETTLED).key_by(key_of).process(Later())


class LaterBeside(KeyedBroadcastProcessFunction[str, Any, Any, Any]):
    """The same beside a stream of rules, whose event time counts as well."""

    def __init__(self) -> None:
        self._later = Later()

    def open(self, runtime_context: RuntimeContext) -> None:
        self._later.open(runtime_context)

    def process_element(
        self, value: Record, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> None:
        self._later.process_element(value, ctx)  # type: ignore[arg-type]  # it has all that is used

    def process_broadcast_element(
        self, value: Record, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        rules[value.number] = value.key
        yield "rule", value.number, rules[value.number]

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterator[Any]:
        return self._later.on_timer(timestamp, ctx)  # type: ignore[arg-type]


RULES = MapStateDescriptor("rules", Types.LONG(), Types.STRING())


def beside_rules(env: StreamExecutionEnvironment) -> DataStream:
    rules = env.from_source(SkewedSource(skewed(IN_ORDER[:9])), strategy(), "rules")
    keyed = stream(env, SETTLED).key_by(key_of)
    made = keyed.connect(rules.broadcast(RULES)).process(LaterBeside())
    # How many subtasks see a rule depends on the parallelism.
    return made.filter(lambda each: each[0] != "rule")


def later() -> Counter[Any]:
    found: dict[tuple[str, int], list[int]] = {}
    for record in SETTLED:
        found.setdefault((record.key, record.time + record.gap), []).append(record.number)
    return Counter((key, due, tuple(sorted(of))) for (key, due), of in found.items())


def reinterpreted(env: StreamExecutionEnvironment) -> DataStream:
    """Timers give records at their own time, to windows of the same key without an exchange."""
    by_time = sorted_by_timers(env)
    again = reinterpret_as_keyed_stream(by_time, lambda each: each[0])
    return again.window(TumblingEventTimeWindows.of(10)).process(Fourths())


class Fourths(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield key, context.window().start, tuple(each[3] for each in elements)


def fourths() -> Counter[Any]:
    by_number = {record.number: record for record in IN_TIME}

    def order(number: int) -> tuple[int, int]:
        return by_number[number].time, number

    return Counter(
        (key, window[0], tuple(sorted(numbers, key=order)))
        for key, window, numbers in final_windows(Shape("tumbling"), IN_TIME)
    )


# Where time comes from


class SomeRounds(AsyncFunction[Record, Record]):
    """Answers after more or fewer rounds of the loop."""

    async def async_invoke(self, value: Record) -> list[Record]:
        for _ in range(value.gap % 4):
            await asyncio.sleep(0)
        return [value]


def asked(env: StreamExecutionEnvironment) -> DataStream:
    """Watermarks wait for the calls before them, in any order of the answers."""
    answered = AsyncDataStream.unordered_wait(stream(env), SomeRounds(), Time.minutes(5), 3)
    return answered.key_by(key_of).window(TumblingEventTimeWindows.of(10)).process(Each())


class EveryFifth(WatermarkGenerator):
    """Emits a watermark with some records, and none in between."""

    def __init__(self) -> None:
        self.latest = 0

    def on_event(self, event: Record, event_timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, event_timestamp)
        if event.number % 5 == 0:
            output.emit_watermark(self.latest - DISORDER - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """There is nothing to do by the clock."""


def punctuated(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_generator(EveryFifth).with_timestamp_assigner(TimeOf())
    made = env.from_source(SkewedSource(skewed(IN_TIME)), strategy, "punctuated")
    return made.key_by(key_of).window(SlidingEventTimeWindows.of(12, 4)).process(Each())


def aligned(env: StreamExecutionEnvironment) -> DataStream:
    """Two sources, and splits within them, wait for each other."""
    env.configure({"pipeline.auto-watermark-interval": "3 ms"})
    together = strategy().with_watermark_alignment(
        "together", Duration.of_millis(DISORDER + 5), Duration.of_millis(5)
    )
    one = env.from_source(SkewedSource(skewed(IN_TIME[::2])), together, "one")
    other = env.from_source(SkewedSource(skewed(IN_TIME[1::2])), together, "other")
    made = one.union(other).key_by(key_of)
    return made.window(TumblingEventTimeWindows.of(10)).aggregate(Numbers(), Together())


def timed_later(env: StreamExecutionEnvironment) -> DataStream:
    """Times are read behind an exchange that mixes the splits: some records are late."""
    env.configure({"pipeline.auto-watermark-interval": "3 ms"})
    nothing = WatermarkStrategy.no_watermarks()
    made = env.from_source(SkewedSource(skewed(IN_TIME)), nothing, "untimed")
    timed = made.rebalance().assign_timestamps_and_watermarks(
        strategy(4).with_idleness(Duration.of_millis(8))
    )
    windows = timed.key_by(key_of).window(TumblingEventTimeWindows.of(10))
    return with_late(windows.side_output_late_data(LATE).process(EachOnce()))


def tumbling_late(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(TumblingEventTimeWindows.of(10))
    windows.trigger(PurgingTrigger.of(EventTimeTrigger())).allowed_lateness(15)
    return with_late(windows.side_output_late_data(LATE).process(EachOnce()))


def sessions_late(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(EventTimeSessionWindows.with_gap(3))
    windows.trigger(PurgingTrigger.of(EventTimeTrigger())).allowed_lateness(5)
    return with_late(windows.side_output_late_data(LATE).process(EachOnce()))


def continuous_late(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env, 30).key_by(key_of).window(TumblingEventTimeWindows.of(30))
    windows.trigger(PurgingTrigger.of(ContinuousEventTimeTrigger.of(4)))
    return with_late(windows.side_output_late_data(LATE).process(EachOnce()))


class Impatient(EveryThird):
    """Fires after some milliseconds of either clock, whichever passes first."""

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_event_time_timer(timestamp + 8)
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 6)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE


def impatient(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(GlobalWindows.create())
    return windows.trigger(Impatient()).process(EachOnce())


def patient_for_a_while(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(TumblingEventTimeWindows.of(20))
    timeout = ProcessingTimeoutTrigger.of(EventTimeTrigger(), Duration.of_millis(6))
    windows.trigger(PurgingTrigger.of(timeout)).allowed_lateness(3)
    return with_late(windows.side_output_late_data(LATE).process(EachOnce()))


def late_columns(env: StreamExecutionEnvironment) -> DataStream:
    rows = Types.ROW_NAMED(["key", "number"], [Types.STRING(), Types.LONG()])
    made = with_idle_splits(env).map(lambda record: Row(record.key, record.number), rows)
    windows = made.key_by_columns("key").window(TumblingEventTimeWindows.of(10))
    totals = windows.side_output_late_data(LATE).aggregate_columns(Agg.collect("number"))
    late = totals.get_side_output(LATE).map(tuple)
    return totals.flat_map(lambda row: [(row.key, number) for number in row[3]]).union(late)


class Judge(KeyedProcessFunction):
    """Gathers where a record was shown, and says at the end of input whether that is right.

    It is in some windows and in none of them twice, or late, but not both.
    """

    def __init__(self, *, again: bool) -> None:
        self._again = again
        """Whether a window may fire again with what it had."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.shown = runtime_context.get_list_state(ListStateDescriptor("shown"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.shown.add(value[1])
        ctx.timer_service().register_event_time_timer(FOREVER)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        shown = list(self.shown.get())
        windows = set(shown) if self._again else shown
        is_right = len(windows) == len(set(shown)) and ("late" not in shown or shown == ["late"])
        yield ctx.get_current_key(), "right" if is_right else tuple(shown)


def judged(made: DataStream, *, again: bool = False) -> DataStream:
    """For a stream of windows and the numbers in them, and the late records beside it."""
    parts = made.flat_map(lambda each: [(number, each[1]) for number in each[2][0]])
    late = made.get_side_output(LATE).map(lambda record: (record.number, "late"))
    return parts.union(late).key_by(lambda pair: pair[0]).process(Judge(again=again))


def all_right() -> Counter[Any]:
    return Counter((record.number, "right") for record in ALL_OVER)


def judged_tumbling(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(TumblingEventTimeWindows.of(10))
    return judged(windows.side_output_late_data(LATE).aggregate(Numbers(), Together()))


def judged_sliding(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(SlidingEventTimeWindows.of(20, 5))
    return judged(windows.side_output_late_data(LATE).aggregate(Numbers(), Together()))


def judged_sliding_again(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(SlidingEventTimeWindows.of(20, 5))
    windows.allowed_lateness(10).side_output_late_data(LATE)
    return judged(windows.aggregate(Numbers(), Together()), again=True)


def judged_sessions(env: StreamExecutionEnvironment) -> DataStream:
    windows = with_idle_splits(env).key_by(key_of).window(EventTimeSessionWindows.with_gap(4))
    windows.allowed_lateness(10).side_output_late_data(LATE)
    return judged(windows.aggregate(Numbers(), Together()), again=True)


def judged_columns(env: StreamExecutionEnvironment) -> DataStream:
    rows = Types.ROW_NAMED(["key", "number"], [Types.STRING(), Types.LONG()])
    made = with_idle_splits(env).map(lambda record: Row(record.key, record.number), rows)
    windows = made.key_by_columns("key").window(SlidingEventTimeWindows.of(20, 5))
    totals = windows.side_output_late_data(LATE).aggregate_columns(Agg.collect("number"))
    parts = totals.flat_map(lambda row: [(number, row[1]) for number in row[3]])
    late = totals.get_side_output(LATE).map(lambda row: (row[1], "late"))
    return parts.union(late).key_by(lambda pair: pair[0]).process(Judge(again=False))


PROGRAMS: dict[str, Simulated] = {
    "sorted by timers": Simulated(sorted_by_timers, in_sorted_order()),
    "deleted timers": Simulated(deleted_timers, quiet_times()),
    "in bursts": Simulated(in_bursts, once(IN_TIME), repeatable=True),
    "settled, timers": Simulated(settled_timers, later(), incremental=(True,)),
    "beside rules": Simulated(beside_rules, later(), incremental=(True,)),
    "reinterpreted": Simulated(reinterpreted, fourths()),
    "asked": Simulated(asked, each_of(Shape("tumbling")), repeatable=True),
    "punctuated": Simulated(punctuated, each_of(Shape("sliding", 12, 4)), repeatable=True),
    "aligned": Simulated(aligned, sets_of(Shape("tumbling"))),
    "timed later": Simulated(timed_later, once(IN_TIME), repeatable=True),
    "tumbling, late": Simulated(tumbling_late, once(ALL_OVER), repeatable=True),
    "sessions, late": Simulated(sessions_late, once(ALL_OVER), repeatable=True),
    "continuous, late": Simulated(continuous_late, once(ALL_OVER), repeatable=True),
    "impatient": Simulated(impatient, once(ALL_OVER), repeatable=True),
    "patient for a while": Simulated(patient_for_a_while, once(ALL_OVER), repeatable=True),
    "late columns": Simulated(late_columns, once(ALL_OVER), repeatable=True),
    "judged, tumbling": Simulated(judged_tumbling, all_right()),
    "judged, sliding": Simulated(judged_sliding, all_right()),
    "judged, sliding again": Simulated(judged_sliding_again, all_right()),
    "judged, sessions": Simulated(judged_sessions, all_right()),
    "judged, columns": Simulated(judged_columns, all_right()),
}
