"""Input that no clock expects: every kind of it has one clear outcome."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import AggregateFunction, ReduceFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.process_functions import KeyedProcessFunction, ProcessFunction
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.trigger import Trigger, TriggerResult
from riverrun.api.triggers import CountTrigger, EventTimeTrigger
from riverrun.api.watermark_generator import WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.connectors.collect import CollectSink
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.configuration import Configuration
from riverrun.core.errors import Failure, JobFailed, ProgramError
from riverrun.core.time import Duration, Time
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.environment import StreamExecutionEnvironment

Pair = tuple[str, Any]
YEAR_9999 = 253_402_300_799_999
LATE = OutputTag("late")


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    settings = Configuration({"riverrun.master": "in-process", "riverrun.in-process.seed": "17"})
    with StreamExecutionEnvironment.get_execution_environment(settings) as made:
        made.set_parallelism(1)
        yield made


class AtEachRecord(WatermarkGenerator):
    """A watermark right behind every record."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """There is nothing to do by the clock."""


AT_ONCE = WatermarkStrategy.for_generator(AtEachRecord).with_timestamp_assigner(
    lambda pair, _: pair[1]
)


def timed(
    env: StreamExecutionEnvironment,
    times: Sequence[Any],
    strategy: WatermarkStrategy = AT_ONCE,
) -> KeyedStream:
    """A record of key "a" for each time."""
    pairs = env.from_collection([("a", time) for time in times])
    stamped = pairs.assign_timestamps_and_watermarks(strategy).name("stamp")
    return stamped.key_by(lambda pair: pair[0])


class Show(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield context.window().start, [time for _, time in elements]


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


def failure_of(stream: DataStream) -> Failure:
    with pytest.raises(JobFailed) as caught:
        collected(stream)
    return caught.value.failure


# Late records


def test_a_record_that_is_too_late_is_left_out_and_counted(
    env: StreamExecutionEnvironment,
) -> None:
    windows = timed(env, [1, 25, 2]).window(TumblingEventTimeWindows.of(10))
    found: list[Any] = []
    sink = CollectSink(lambda subtask, values: found.extend(values))
    windows.process(Show()).name("windows").sink_to(sink)

    client = env.execute_async("late")
    client.get_job_execution_result().result(30)

    assert found == [(0, [1]), (20, [25])]
    late = [
        value
        for metrics in client.get_metrics().values()
        for name, value in metrics.items()
        if name == "numLateRecordsDropped"
    ]
    assert sum(late) == 1


def test_a_record_that_is_too_late_can_be_had_apart(env: StreamExecutionEnvironment) -> None:
    windows = timed(env, [1, 25, 2, 15]).window(TumblingEventTimeWindows.of(10))
    made = windows.allowed_lateness(8).side_output_late_data(LATE).process(Show())

    late = made.get_side_output(LATE).map(lambda pair: ("late", pair[1]))

    assert sorted(collected(made.union(late)), key=str) == [
        ("late", 2),
        (0, [1]),
        (10, [15]),
        (20, [25]),
    ]


# Timestamps


@pytest.mark.parametrize(
    ("time", "what"),
    [
        (None, "None"),
        ("noon", "'noon', a str,"),
        (2.5, "2.5, a float,"),
        (True, "True, a bool,"),
        (2**63, "9223372036854775808, which does not fit into 64 bits,"),
    ],
)
def test_a_timestamp_that_is_none_fails_the_job_and_names_the_record(
    env: StreamExecutionEnvironment, time: Any, what: str
) -> None:
    windows = timed(env, [1, time]).window(TumblingEventTimeWindows.of(10))

    failure = failure_of(windows.process(Show()))

    assert failure.operator == "stamp"
    assert failure.record == repr(("a", time))
    assert failure.message == (
        f"operator 'stamp': the timestamp assigner gave {what} for the record ('a', {time!r}); "
        f"return milliseconds since the Unix epoch as an int"
    ).replace(",,", ",")


def test_a_record_without_a_timestamp_is_told_how_to_get_one(
    env: StreamExecutionEnvironment,
) -> None:
    pairs = env.from_collection([("a", 1)]).key_by(lambda pair: pair[0])

    failure = failure_of(pairs.window(TumblingEventTimeWindows.of(10)).process(Show()).name("sums"))

    assert failure.operator == "sums"
    assert "the record ('a', 1) has no timestamp" in failure.message
    assert "call assign_timestamps_and_watermarks(...) before key_by" in failure.message


def test_a_record_of_the_year_9999_has_its_window_and_makes_later_ones_late(
    env: StreamExecutionEnvironment,
) -> None:
    windows = timed(env, [1, YEAR_9999, 2]).window(TumblingEventTimeWindows.of(10))
    made = windows.side_output_late_data(LATE).process(Show())

    late = made.get_side_output(LATE).map(lambda pair: ("late", pair[1]))

    assert sorted(collected(made.union(late)), key=str) == [
        ("late", 2),
        (0, [1]),
        (YEAR_9999 - 9, [YEAR_9999]),
    ]


def test_a_record_from_before_1970_has_its_window(env: StreamExecutionEnvironment) -> None:
    windows = timed(env, [-15, -1, 3]).window(SlidingEventTimeWindows.of(10, 5))

    assert collected(windows.process(Show())) == [
        (-20, [-15]),
        (-15, [-15]),
        (-10, [-1]),
        (-5, [-1, 3]),
        (0, [3]),
    ]


# Windows that cannot be


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: TumblingEventTimeWindows.of(0),
            "TumblingEventTimeWindows: the size is 0 ms; expected at least 1 ms",
        ),
        (
            lambda: TumblingEventTimeWindows.of(Time.seconds(-1)),
            "TumblingEventTimeWindows: the size is -1000 ms; expected at least 1 ms",
        ),
        (
            lambda: TumblingEventTimeWindows.of(10, 10),
            (
                "TumblingEventTimeWindows: the offset is 10 ms and the size 10 ms; expected an offset "
                "between minus the size and the size: abs(offset) < size"
            ),
        ),
        (
            lambda: SlidingEventTimeWindows.of(10, 0),
            "SlidingEventTimeWindows: the slide is 0 ms; expected at least 1 ms",
        ),
        (
            lambda: EventTimeSessionWindows.with_gap(-1),
            "EventTimeSessionWindows: the gap is -1 ms; expected at least 1 ms",
        ),
        (lambda: CountTrigger.of(0), "CountTrigger: the count is 0; expected at least 1"),
        (
            lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)),
            "watermark strategy: the max out-of-orderness is -1 ms; expected 0 or more",
        ),
    ],
)
def test_windows_of_no_size_are_refused_where_they_are_made(
    make: Callable[[], Any], said: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (compared in full below)
        make()

    assert str(caught.value) == said


@pytest.mark.parametrize("gap", [0, -3, None, 2.5])
def test_a_gap_that_a_record_cannot_have_fails_the_job_and_names_the_record(
    env: StreamExecutionEnvironment, gap: Any
) -> None:
    sessions = EventTimeSessionWindows.with_dynamic_gap(lambda _: gap)

    failure = failure_of(timed(env, [1]).window(sessions).process(Show()).name("sessions"))

    assert failure.operator == "sessions"
    assert failure.record == "('a', 1)"
    assert f"the gap of the record ('a', 1) is {gap!r}; expected milliseconds" in failure.message
    assert "check the gap extractor" in failure.message


def test_a_trigger_that_cannot_merge_is_refused_for_sessions(
    env: StreamExecutionEnvironment,
) -> None:
    windows = timed(env, [1]).window(EventTimeSessionWindows.with_gap(5))

    with pytest.raises(ProgramError, match="cannot merge; use a trigger whose can_merge"):
        windows.trigger(Raising("nowhere", merges=False))


# Functions that raise


class Raising(EventTimeTrigger[Any]):
    """Raises, or answers nonsense, at one place."""

    def __init__(self, where: str, *, merges: bool = True) -> None:
        self._where = where
        self._merges = merges

    def can_merge(self) -> bool:
        return self._merges

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self._where == "nonsense":
            return True  # type: ignore[return-value]  # what is wrong with it
        self._raise_at("on_element")
        return super().on_element(element, timestamp, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        self._raise_at("on_event_time")
        return super().on_event_time(time, window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self._raise_at("clear")
        super().clear(window, ctx)

    def __repr__(self) -> str:
        return f"Raising({self._where})"

    def _raise_at(self, where: str) -> None:
        if self._where == where:
            raise ValueError(f"no good in {where}")


TIMER = "<event-time timer 9 of key 'a' and window TimeWindow(start=0, end=10)>"


@pytest.mark.parametrize(
    ("where", "record"),
    [("on_element", "('a', 1)"), ("on_event_time", TIMER), ("clear", TIMER)],
)
def test_a_trigger_that_raises_fails_the_job_and_names_what_it_was_at(
    env: StreamExecutionEnvironment, where: str, record: str
) -> None:
    windows = timed(env, [1]).window(TumblingEventTimeWindows.of(10)).trigger(Raising(where))

    failure = failure_of(windows.process(Show()).name("sums"))

    assert (failure.operator, failure.record) == ("sums", record)
    assert (failure.type_name, failure.message) == ("ValueError", f"no good in {where}")
    assert "in _raise_at" in failure.traceback


def test_a_trigger_that_answers_nonsense_is_told_what_to_answer(
    env: StreamExecutionEnvironment,
) -> None:
    windows = timed(env, [1]).window(TumblingEventTimeWindows.of(10)).trigger(Raising("nonsense"))

    failure = failure_of(windows.process(Show()).name("sums"))

    assert failure.message == (
        "operator 'sums': the trigger Raising(nonsense) returned True; expected a TriggerResult, "
        "such as TriggerResult.CONTINUE"
    )


class BadEvictor(CountEvictor[Any, Any]):
    def evict_before(self, *args: Any) -> None:
        raise ValueError("no good")


class BadWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Any]:
        raise ValueError("no good")


class BadResult(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        raise ValueError("no good")

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class BadReduce(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        raise ValueError("no good")


@pytest.mark.parametrize(
    ("finish", "record"),
    [
        (lambda windows: windows.evictor(BadEvictor(3)).process(Show()), TIMER),
        (lambda windows: windows.process(BadWindow()), TIMER),
        (
            lambda windows: windows.aggregate(BadResult()),
            f"<{TIMER[len('<event-time timer 9 of ') :]}",
        ),
        (lambda windows: windows.reduce(BadReduce()), "('a', 2)"),
    ],
    ids=["evictor", "window function", "result of an aggregate", "reduce"],
)
def test_a_function_of_a_window_that_raises_fails_the_job_and_names_what_it_was_at(
    env: StreamExecutionEnvironment, finish: Callable[[Any], DataStream], record: str
) -> None:
    windows = timed(env, [1, 2]).window(TumblingEventTimeWindows.of(10))

    failure = failure_of(finish(windows).name("sums"))

    assert (failure.operator, failure.record) == ("sums", record)
    assert (failure.type_name, failure.message) == ("ValueError", "no good")


# Timers


class SetTimer(KeyedProcessFunction):
    def __init__(self, time: Any) -> None:
        self._time = time

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(self._time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp


@pytest.mark.parametrize("time", [None, "noon", 2.5, 2**63, -(2**63) - 1])
def test_a_timer_for_no_time_fails_the_job_and_says_what_a_time_is(
    env: StreamExecutionEnvironment, time: Any
) -> None:
    failure = failure_of(timed(env, [1]).process(SetTimer(time)).name("timers"))

    assert (failure.operator, failure.record) == ("timers", "('a', 1)")
    assert failure.message.startswith(f"timer for {time!r}: expected whole milliseconds")
    assert failure.message.endswith("round the time to an int")


@pytest.mark.parametrize("time", [-(2**63), -1, YEAR_9999, 2**63 - 1])
def test_a_timer_of_any_time_there_is_fires(env: StreamExecutionEnvironment, time: int) -> None:
    assert collected(timed(env, [1]).process(SetTimer(time))) == [time]


class TimerWithoutKey(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(1)


def test_a_timer_without_a_key_is_told_to_use_one(env: StreamExecutionEnvironment) -> None:
    failure = failure_of(env.from_collection([7]).process(TimerWithoutKey()).name("timers"))

    assert (failure.operator, failure.record) == ("timers", "7")
    assert "the stream has no keys, and a timer belongs to a key; use key_by" in failure.message


@pytest.mark.parametrize("watermark", [None, 2.5, 2**63])
def test_a_watermark_that_is_none_fails_the_job_and_says_what_one_is(
    env: StreamExecutionEnvironment, watermark: Any
) -> None:
    class Emits(AtEachRecord):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            output.emit_watermark(watermark)

    strategy = WatermarkStrategy.for_generator(Emits).with_timestamp_assigner(lambda pair, _: 1)

    failure = failure_of(timed(env, [1], strategy).process(SetTimer(1)))

    assert (failure.operator, failure.record) == ("stamp", "('a', 1)")
    assert failure.message.startswith(f"watermark generator: emitted {watermark!r}")
    assert "emit milliseconds since the Unix epoch as an int" in failure.message


# A million open windows

KEYS, WINDOWS, SECOND = 20_000, 50, 1000


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[int, int], accumulator: int) -> int:
        return accumulator + value[0]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithStart(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: int, context: ProcessWindowFunction.Context[Any], elements: Iterable[int]
    ) -> Iterator[tuple[int, int]]:
        yield context.window().start // SECOND, next(iter(elements))


@pytest.mark.parametrize("backend", ["hashmap", pytest.param("rocksdb", marks=pytest.mark.slow)])
def test_a_million_open_windows_are_exact_and_checkpointed_in_sane_memory(backend: str) -> None:
    """One record for each key and window, and none of them is over before the last record."""
    settings = {
        "riverrun.master": "in-process",
        "state.backend.type": backend,
        # Of virtual time: one comes when most windows are open, and one at the end.
        "execution.checkpointing.interval": "700 ms",
    }
    totals = [0] * WINDOWS
    results = 0

    def count(subtask: int, pairs: Sequence[tuple[int, int]]) -> None:
        nonlocal results
        results += len(pairs)
        for window, total in pairs:
            totals[window] += total

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with StreamExecutionEnvironment.get_execution_environment(Configuration(settings)) as env:
        env.set_parallelism(1)
        bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(WINDOWS))
        strategy = bounded.with_timestamp_assigner(lambda pair, _: pair[1] * SECOND)
        source = DataGeneratorSource(
            lambda index: (index // WINDOWS, index % WINDOWS), KEYS * WINDOWS
        )
        pairs = env.from_source(source, strategy, "pairs").key_by(lambda pair: pair[0])
        windows = pairs.window(TumblingEventTimeWindows.of(SECOND))
        windows.aggregate(Total(), WithStart()).sink_to(CollectSink(count))
        client = env.execute_async("a million windows")
        client.get_job_execution_result().result(600)
        checkpoints: Any = client.get_checkpoints()
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert results == KEYS * WINDOWS
    assert totals == [KEYS * (KEYS - 1) // 2] * WINDOWS
    assert checkpoints.counts.completed >= 2
    assert checkpoints.counts.failed == 0
    assert checkpoints.summary.state_size.max > 10 * 1000 * 1000
    assert grown_kb < 700 * 1000, "one window takes less than 700 bytes, whoever holds it"
