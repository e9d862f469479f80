"""Programs with windows, and what they must give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from riverrun.api.column_aggregates import Agg
from riverrun.api.evictors import CountEvictor, TimeEvictor
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.state import (
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.window_assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.api.window_functions import ProcessAllWindowFunction, ProcessWindowFunction
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.oracles.windows import FOREVER, Record, Shape, count_windows, final_windows
from tests.unit.testing.event_time_streams import (
    IN_ORDER,
    IN_TIME,
    SETTLED,
    Each,
    Numbers,
    Simulated,
    Together,
    in_order,
    key_of,
    stream,
)


def each_of(shape: Shape, made: Sequence[Record] = IN_TIME) -> Counter[Any]:
    windows = final_windows(shape, made)
    return Counter((w.key, w.window, number) for w in windows for number in w.numbers)


def sets_of(shape: Shape, made: Sequence[Record] = IN_TIME) -> Counter[Any]:
    windows = final_windows(shape, made)
    return Counter((w.key, w.window, (tuple(sorted(w.numbers)),)) for w in windows)


# Nothing is late: windows of time have their final contents


def tumbling_listed(env: StreamExecutionEnvironment) -> DataStream:
    return stream(env).key_by(key_of).window(TumblingEventTimeWindows.of(10)).process(Each())


def tumbling_folded(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env).key_by(key_of).window(TumblingEventTimeWindows.of(7, -3))
    return windows.allowed_lateness(25).aggregate(Numbers(), Together())


def sliding_listed(env: StreamExecutionEnvironment) -> DataStream:
    return stream(env).key_by(key_of).window(SlidingEventTimeWindows.of(10, 4, 1)).process(Each())


def sliding_folded(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env).key_by(key_of).window(SlidingEventTimeWindows.of(12, 4))
    return windows.aggregate(Numbers(), Together())


def sessions_listed(env: StreamExecutionEnvironment) -> DataStream:
    sessions = EventTimeSessionWindows.with_dynamic_gap(lambda record: record.gap)
    return stream(env).key_by(key_of).window(sessions).process(Each())


def sessions_folded(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env).key_by(key_of).window(EventTimeSessionWindows.with_gap(4))
    return windows.allowed_lateness(10).aggregate(Numbers(), Together())


class EachOfAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(
        self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Record]
    ) -> Iterator[Any]:
        window = context.window()
        for record in elements:
            yield "all", (window.start, window.end), record.number


def all_sliding(env: StreamExecutionEnvironment) -> DataStream:
    return stream(env).window_all(SlidingEventTimeWindows.of(20, 10)).process(EachOfAll())


def of_all(made: Sequence[Record]) -> list[Record]:
    return [record._replace(key="all") for record in made]


def until_the_end(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env).key_by(key_of)
    window = windows.window(GlobalWindows.create_with_end_of_stream_trigger())
    return window.aggregate(Numbers(), Together())


def whole() -> Counter[Any]:
    found: dict[str, list[int]] = {}
    for record in IN_TIME:
        found.setdefault(record.key, []).append(record.number)
    return Counter((key, None, (tuple(sorted(numbers)),)) for key, numbers in found.items())


class Nth(ProcessWindowFunction[Any, Any, Any, Any]):
    """Numbers the windows of a key, and counts how often each fires."""

    _WINDOWS = ValueStateDescriptor("windows", Types.LONG())
    _FIRINGS = ValueStateDescriptor("firings", Types.LONG())

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        windows, firings = (
            context.global_state().get_state(self._WINDOWS),
            context.window_state().get_state(self._FIRINGS),
        )
        firings.update((firings.value() or 0) + 1)
        if firings.value() == 1:
            windows.update((windows.value() or 0) + 1)
        yield key, windows.value(), firings.value(), context.window().start, len(list(elements))

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        context.window_state().get_state(self._FIRINGS).clear()


def numbered(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env).key_by(key_of).window(TumblingEventTimeWindows.of(10))
    return windows.allowed_lateness(5).process(Nth())


def nth_windows() -> Counter[Any]:
    by_key: dict[str, list[Any]] = {}
    for fired in final_windows(Shape("tumbling"), IN_TIME):
        by_key.setdefault(fired.key, []).append(fired)
    return Counter(
        (key, nth, 1, fired.window[0], len(fired.numbers))
        for key, of_key in by_key.items()
        for nth, fired in enumerate(sorted(of_key), start=1)
    )


def cascade(env: StreamExecutionEnvironment) -> DataStream:
    """Windows of windows: results have the last millisecond of their window as their time."""
    by_ten = stream(env).key_by(key_of).window(TumblingEventTimeWindows.of(10)).process(Each())
    by_thirty = by_ten.key_by(lambda each: each[0]).window(TumblingEventTimeWindows.of(30))
    return by_thirty.aggregate(Thirds(), Together())


class Thirds(Numbers):
    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value[1:])
        return accumulator


def cascaded() -> Counter[Any]:
    found: dict[tuple[str, int], list[Any]] = {}
    for key, window, numbers in final_windows(Shape("tumbling"), IN_TIME):
        found.setdefault((key, window[0] // 30 * 30), []).extend((window, n) for n in numbers)
    return Counter(
        (key, (start, start + 30), (tuple(sorted(of)),)) for (key, start), of in found.items()
    )


def columns(env: StreamExecutionEnvironment) -> DataStream:
    rows = Types.ROW_NAMED(["key", "number"], [Types.STRING(), Types.LONG()])
    return stream(env).map(lambda record: Row(record.key, record.number), rows)


def in_columns(env: StreamExecutionEnvironment) -> DataStream:
    windows = columns(env).key_by_columns("key").window(TumblingEventTimeWindows.of(10))
    made = windows.allowed_lateness(20).aggregate_columns(
        Agg.count(), Agg.sum("number"), Agg.min("number"), Agg.max("number"), Agg.mean("number")
    )
    return made.map(tuple)


def in_sliding_columns(env: StreamExecutionEnvironment) -> DataStream:
    windows = columns(env).key_by_columns("key").window(SlidingEventTimeWindows.of(12, 4))
    made = windows.aggregate_columns(Agg.count(), Agg.collect("number"))
    return made.map(lambda row: (*tuple(row)[:4], tuple(sorted(row[4]))))


def column_rows() -> Counter[Any]:
    return Counter(
        (key, *window, len(n), sum(n), min(n), max(n), sum(n) / len(n))
        for key, window, n in final_windows(Shape("tumbling"), IN_TIME)
    )


def column_lists() -> Counter[Any]:
    windows = final_windows(Shape("sliding", 12, 4), IN_TIME)
    return Counter((key, *window, len(n), tuple(sorted(n))) for key, window, n in windows)


# Most windows stay as they are for long: incremental checkpoints hold what changes


def settled_tumbling(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env, SETTLED).key_by(key_of).window(TumblingEventTimeWindows.of(10))
    return windows.allowed_lateness(1000).aggregate(Numbers(), Together())


def settled_sliding(env: StreamExecutionEnvironment) -> DataStream:
    windows = stream(env, SETTLED).key_by(key_of).window(SlidingEventTimeWindows.of(12, 4))
    return windows.allowed_lateness(1000).aggregate(Numbers(), Together())


def settled_sessions(env: StreamExecutionEnvironment) -> DataStream:
    sessions = EventTimeSessionWindows.with_dynamic_gap(lambda record: record.gap)
    return stream(env, SETTLED).key_by(key_of).window(sessions).aggregate(Numbers(), Together())


def settled_lists(env: StreamExecutionEnvironment) -> DataStream:
    sessions = EventTimeSessionWindows.with_dynamic_gap(lambda record: record.gap)
    return stream(env, SETTLED).key_by(key_of).window(sessions).process(Each())


# Nothing is late, and a key's records come in one order


def by_count(env: StreamExecutionEnvironment) -> DataStream:
    return in_order(env).count_window(3).process(Together())


def by_sliding_count(env: StreamExecutionEnvironment) -> DataStream:
    return in_order(env).count_window(4, 2).process(Together())


def counted(size: int, slide: int) -> Counter[Any]:
    return Counter(
        (key, None, tuple(numbers)) for key, numbers in count_windows(size, slide, IN_ORDER)
    )


def last_three(env: StreamExecutionEnvironment) -> DataStream:
    windows = in_order(env).window(TumblingEventTimeWindows.of(30))
    return windows.evictor(CountEvictor.of(3)).process(Together())


def latest_only(env: StreamExecutionEnvironment) -> DataStream:
    windows = in_order(env).window(SlidingEventTimeWindows.of(30, 10))
    return windows.evictor(TimeEvictor.of(6)).process(Together())


def kept(shape: Shape, keep: Callable[[list[Record]], list[Record]]) -> Counter[Any]:
    by_number = {record.number: record for record in IN_ORDER}
    return Counter(
        (key, window, tuple(record.number for record in keep([by_number[n] for n in numbers])))
        for key, window, numbers in final_windows(shape, IN_ORDER)
    )


class EveryThird(Trigger[Any, Any]):
    """Fires and forgets at every third record of a key; what is left goes at the end of input."""

    _COUNT = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count: Any = ctx.get_partitioned_state(self._COUNT)
        count.add(1)
        ctx.register_event_time_timer(FOREVER)
        if count.get() < 3:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE_AND_PURGE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        raise NotImplementedError

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._COUNT).clear()
        ctx.delete_event_time_timer(FOREVER)


def every_third(env: StreamExecutionEnvironment) -> DataStream:
    return in_order(env).window(GlobalWindows.create()).trigger(EveryThird()).process(Together())


def thirds() -> Counter[Any]:
    found: Counter[Any] = Counter()
    for key in {record.key for record in IN_ORDER}:
        numbers = [record.number for record in IN_ORDER if record.key == key]
        for start in range(0, len(numbers), 3):
            found[key, None, tuple(numbers[start : start + 3])] += 1
    return found


def newest(limit: int) -> Callable[[list[Record]], list[Record]]:
    def keep(found: list[Record]) -> list[Record]:
        latest = max(record.time for record in found)
        return [record for record in found if record.time > latest - limit]

    return keep


PROGRAMS: dict[str, Simulated] = {
    "tumbling, listed": Simulated(tumbling_listed, each_of(Shape("tumbling")), repeatable=True),
    "tumbling, folded": Simulated(tumbling_folded, sets_of(Shape("tumbling", 7, 7, -3))),
    "sliding, listed": Simulated(
        sliding_listed, each_of(Shape("sliding", 10, 4, 1)), repeatable=True
    ),
    "sliding, folded": Simulated(sliding_folded, sets_of(Shape("sliding", 12, 4))),
    "sessions, listed": Simulated(sessions_listed, each_of(Shape("session", 0))),
    "sessions, folded": Simulated(sessions_folded, sets_of(Shape("session", 4))),
    "windows of all": Simulated(
        all_sliding, each_of(Shape("sliding", 20, 10), of_all(IN_TIME)), repeatable=True
    ),
    "one window": Simulated(until_the_end, whole()),
    "state of windows": Simulated(numbered, nth_windows()),
    "windows of windows": Simulated(cascade, cascaded()),
    "columns": Simulated(in_columns, column_rows()),
    "sliding columns": Simulated(in_sliding_columns, column_lists()),
    "settled, tumbling": Simulated(
        settled_tumbling, sets_of(Shape("tumbling"), SETTLED), incremental=(True,)
    ),
    "settled, sliding": Simulated(
        settled_sliding, sets_of(Shape("sliding", 12, 4), SETTLED), incremental=(True,)
    ),
    "settled, sessions": Simulated(
        settled_sessions, sets_of(Shape("session", 0), SETTLED), incremental=(True,)
    ),
    "settled, lists": Simulated(
        settled_lists, each_of(Shape("session", 0), SETTLED), incremental=(True,)
    ),
    "by count": Simulated(by_count, counted(3, 3)),
    "by sliding count": Simulated(by_sliding_count, counted(4, 2)),
    "last three": Simulated(last_three, kept(Shape("tumbling", 30, 30), lambda found: found[-3:])),
    "latest only": Simulated(latest_only, kept(Shape("sliding", 30, 10), newest(6))),
    "every third": Simulated(every_third, thirds()),
}
