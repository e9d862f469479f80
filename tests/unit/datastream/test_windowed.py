"""Windowed streams: what a program says about windows, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from riverrun.api.evictors import CountEvictor
from riverrun.api.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.api.trigger import Trigger
from riverrun.api.triggers import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from riverrun.api.watermark_strategy import NoWatermarks, WatermarkStrategy
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.windows import TimeWindow
from riverrun.core.errors import ProgramError
from riverrun.core.options import RuntimeExecutionMode
from riverrun.core.time import Duration, Time
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.data_stream_utils import DataStreamUtils, reinterpret_as_keyed_stream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.window_operation import WindowOperationDescriptor
from riverrun.datastream.windowed import AllWindowedStream, WindowedStream
from riverrun.graph.partitioning import Forward, Hash, Rebalance
from riverrun.graph.pickling import check_picklable
from riverrun.graph.plan_json import execution_plan_json
from riverrun.graph.specs import (
    ReduceSpec,
    SourceSpec,
    TimestampsAndWatermarksSpec,
    WindowSpec,
)
from riverrun.graph.stream_graph import StreamGraph, StreamNode
from riverrun.serde.types import Types

TYPE = Types.TUPLE([Types.STRING(), Types.INT()])
SECONDS: WindowAssigner[Any, Any] = TumblingEventTimeWindows.of(Time.seconds(5))


class Add(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Apply(WindowFunction[Any, str, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[str]:
        yield f"{key} {window} {list(inputs)}"


class Process(ProcessWindowFunction[Any, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[str]:
        yield f"{key} {list(elements)}"


class ApplyAll(AllWindowFunction[Any, str, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[str]:
        yield str(list(inputs))


class ProcessAll(ProcessAllWindowFunction[Any, str, TimeWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[str]:
        yield str(list(elements))


@pytest.fixture
def orders(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)], type_info=TYPE)


@pytest.fixture
def keyed(orders: DataStream) -> KeyedStream:
    return orders.key_by(lambda order: order[0], key_type=Types.STRING())


def graph_of(stream: DataStream) -> StreamGraph:
    return stream._program.show().stream_graph


def node_of(stream: DataStream) -> StreamNode:
    return graph_of(stream).nodes[-1]


def spec_of(stream: DataStream) -> WindowSpec:
    spec = node_of(stream).spec
    assert isinstance(spec, WindowSpec)
    return spec


def test_a_window_operator_has_the_key_and_the_assigners_trigger(keyed: KeyedStream) -> None:
    reduced = keyed.window(SECONDS).reduce(Add())

    spec, node = spec_of(reduced), node_of(reduced)
    assert (spec.assigner, spec.trigger) == (SECONDS, EventTimeTrigger())
    assert (spec.evictor, spec.allowed_lateness_ms, spec.late_tag) == (None, 0, None)
    assert spec.keyed
    assert node.key_selector is not None
    assert node.key_type == Types.STRING()
    [edge] = graph_of(reduced).in_edges(node.id)
    assert isinstance(edge.partitioning, Hash)


def test_the_program_may_name_trigger_evictor_lateness_and_late_output(keyed: KeyedStream) -> None:
    late, evictor = OutputTag("late", TYPE), CountEvictor[Any, Any](3)
    windows = keyed.window(SECONDS).trigger(PurgingTrigger(CountTrigger(2))).evictor(evictor)
    counted = windows.allowed_lateness(250).side_output_late_data(late).apply(Apply())

    spec = spec_of(counted)
    assert spec.trigger == PurgingTrigger(CountTrigger(2))
    assert spec.evictor is evictor
    assert (spec.allowed_lateness_ms, spec.late_tag) == (250, "late")
    assert counted.get_side_output(late).get_type() == TYPE


@pytest.mark.parametrize(
    "lateness", [Time.seconds(1), Duration.of_seconds(1), timedelta(seconds=1), 1000]
)
def test_lateness_may_be_any_length(keyed: KeyedStream, lateness: Any) -> None:
    result = keyed.window(SECONDS).allowed_lateness(lateness).sum(1)

    assert spec_of(result).allowed_lateness_ms == 1000


@pytest.mark.parametrize(
    ("build", "aggregate", "function"),
    [
        (lambda w: w.reduce(Add()), Add, None),
        (lambda w: w.reduce(Add(), Apply()), Add, Apply),
        (lambda w: w.reduce(Add(), Process()), Add, Process),
        (lambda w: w.aggregate(Mean()), Mean, None),
        (lambda w: w.aggregate(Mean(), Apply()), Mean, Apply),
        (lambda w: w.aggregate(Mean(), window_function=Process()), Mean, Process),
        (lambda w: w.apply(Apply()), None, Apply),
        (lambda w: w.process(Process()), None, Process),
    ],
)
def test_functions_of_windows_by_key(
    keyed: KeyedStream,
    build: Callable[[WindowedStream[DataStream]], DataStream],
    aggregate: type | None,
    function: type | None,
) -> None:
    result = build(keyed.window(SECONDS))

    assert _kinds(spec_of(result)) == (aggregate, function)
    check_picklable(result._program.show().job_graph)


@pytest.mark.parametrize(
    ("build", "aggregate", "function"),
    [
        (lambda w: w.reduce(Add()), Add, None),
        (lambda w: w.reduce(Add(), ApplyAll()), Add, ApplyAll),
        (lambda w: w.aggregate(Mean(), ProcessAll()), Mean, ProcessAll),
        (lambda w: w.apply(ApplyAll()), None, ApplyAll),
        (lambda w: w.process(ProcessAll()), None, ProcessAll),
    ],
)
def test_functions_of_windows_of_all_records(
    orders: DataStream,
    build: Callable[[AllWindowedStream[DataStream]], DataStream],
    aggregate: type | None,
    function: type | None,
) -> None:
    spec = spec_of(build(orders.window_all(SECONDS)))

    assert _kinds(spec) == (aggregate, function)
    assert not spec.keyed


def _kinds(spec: WindowSpec) -> tuple[type | None, type | None]:
    aggregate, function = spec.aggregate, spec.function
    return (
        None if aggregate is None else type(aggregate),
        None if function is None else type(function),
    )


def test_windows_of_all_records_have_one_key_and_one_subtask(orders: DataStream) -> None:
    result = orders.window_all(SECONDS).reduce(Add()).map(lambda total: total)

    graph = graph_of(result)
    window, mapped = graph.nodes[-2:]
    assert window.parallelism == 1
    assert mapped.parallelism == 2
    assert window.key_selector is not None
    assert window.key_selector(("a", 1)) == window.key_selector(("b", 2))
    with pytest.raises(ProgramError, match="can only run with parallelism 1"):
        graph_of(orders.window_all(SECONDS).reduce(Add()).set_parallelism(2))


def test_windows_of_all_records_ignore_the_key_of_a_keyed_stream(keyed: KeyedStream) -> None:
    node = node_of(keyed.window_all(SECONDS).reduce(Add()))

    assert node.key_selector is not None
    assert node.key_selector(("a", 1)) == node.key_selector(("b", 2))


@pytest.mark.parametrize(
    ("slide", "assigner"),
    [(0, CountTumblingWindowAssigner(4)), (2, CountSlidingWindowAssigner(4, 2))],
)
def test_count_windows_with_and_without_a_slide(
    keyed: KeyedStream, orders: DataStream, slide: int, assigner: WindowAssigner[Any, Any]
) -> None:
    assert spec_of(keyed.count_window(4, slide).reduce(Add())).assigner == assigner
    assert spec_of(orders.count_window_all(4, slide).reduce(Add())).assigner == assigner


@pytest.mark.parametrize(("size", "slide"), [(0, 0), (-1, 0), (4, -1), (0, 2)])
def test_count_windows_of_no_records_are_refused(keyed: KeyedStream, size: int, slide: int) -> None:
    with pytest.raises(ValueError, match="expected at least 1"):
        keyed.count_window(size, slide)


@pytest.mark.parametrize("method", ["sum", "min", "max", "min_by", "max_by"])
def test_fields_can_be_aggregated_without_a_function(
    keyed: KeyedStream, orders: DataStream, method: str
) -> None:
    for windows in (keyed.window(SECONDS), orders.window_all(SECONDS)):
        result = getattr(windows, method)(1)

        assert isinstance(spec_of(result).aggregate, ReduceFunction)
        assert result.get_type() == TYPE


def test_an_evictor_beside_an_incremental_function_is_allowed(keyed: KeyedStream) -> None:
    spec = spec_of(keyed.window(SECONDS).evictor(CountEvictor.of(2)).reduce(Add(), Apply()))

    assert _kinds(spec) == (Add, Apply)
    assert spec.evictor is not None


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda w: w.reduce(Add()), TYPE),
        (lambda w: w.reduce(Add(), output_type=Types.STRING()), Types.STRING()),
        (lambda w: w.reduce(Add(), Apply()), Types.STRING()),
        (lambda w: w.aggregate(Mean()), Types.DOUBLE()),
        (lambda w: w.aggregate(Mean(), output_type=Types.FLOAT()), Types.FLOAT()),
        (lambda w: w.apply(Apply()), Types.STRING()),
        (lambda w: w.process(Process(), Types.PICKLED_BYTE_ARRAY()), Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_the_type_of_results_is_as_declared_or_as_annotated(
    keyed: KeyedStream,
    build: Callable[[WindowedStream[DataStream]], DataStream],
    expected: Any,
) -> None:
    assert build(keyed.window(SECONDS)).get_type() == expected


def test_a_declared_type_is_enforced(keyed: KeyedStream) -> None:
    windows = keyed.window(SECONDS)

    assert node_of(windows.apply(Apply(), Types.STRING())).enforce_type
    assert not node_of(windows.apply(Apply())).enforce_type


def test_a_windowed_stream_knows_where_it_comes_from(
    env: StreamExecutionEnvironment, keyed: KeyedStream, orders: DataStream
) -> None:
    for windows in (keyed.window(SECONDS), orders.window_all(SECONDS)):
        assert windows.get_execution_environment() is env
        assert windows.get_input_type() == TYPE


def test_names_and_descriptions_say_how_the_stream_is_cut(keyed: KeyedStream) -> None:
    by_key = keyed.window(SECONDS).evictor(CountEvictor.of(2)).reduce(Add(), Process())
    of_all = keyed.window_all(EventTimeSessionWindows.with_gap(7)).aggregate(Mean())

    assert by_key.get_name() == "TumblingEventTimeWindows"
    plan = json.loads(execution_plan_json(graph_of(of_all)))
    described = [node["contents"] for node in plan["nodes"] if "Window" in node["contents"]]
    assert described == [
        "Window(TumblingEventTimeWindows(5000, 0), EventTimeTrigger, CountEvictor, Add, Process)",
        "AllWindow(EventTimeSessionWindows(7), EventTimeTrigger, Mean)",
    ]


def test_an_operation_describes_itself() -> None:
    operation = WindowOperationDescriptor(SECONDS, EventTimeTrigger(), 0, None, None, None, None)

    assert operation.generate_op_name() == "TumblingEventTimeWindows"
    assert operation.generate_op_desc("Window", "f") == (
        "Window(TumblingEventTimeWindows(5000, 0), EventTimeTrigger, f)"
    )


class TwoDays(TumblingEventTimeWindows[Any]):
    """Knows the environment that it is asked by."""

    def __init__(self) -> None:
        super().__init__(2 * 86_400_000, 0)

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        assert isinstance(env, StreamExecutionEnvironment)
        return ProcessingTimeTrigger()


def test_an_assigners_trigger_may_depend_on_the_environment(keyed: KeyedStream) -> None:
    assert spec_of(keyed.window(TwoDays()).reduce(Add())).trigger == ProcessingTimeTrigger()


@pytest.mark.parametrize(
    ("build", "error", "said"),
    [
        (lambda k: k.window(TumblingEventTimeWindows), TypeError, "expected a WindowAssigner"),
        (lambda k: k.window_all("5 s"), TypeError, "expected a WindowAssigner"),
        (lambda k: k.window(SECONDS).trigger(CountTrigger), TypeError, "expected a Trigger"),
        (lambda k: k.window(SECONDS).evictor(CountEvictor), TypeError, "expected an Evictor"),
        (lambda k: k.window(SECONDS).allowed_lateness(-1), ValueError, "is -1 ms; expected 0"),
        (lambda k: k.window(SECONDS).allowed_lateness("1 s"), TypeError, "expected a Time"),
        (lambda k: k.window(SECONDS).side_output_late_data("late"), TypeError, "an OutputTag"),
        (lambda k: k.window(SECONDS).reduce(Mean()), TypeError, "expected a ReduceFunction"),
        (lambda k: k.window(SECONDS).reduce(Add(), ApplyAll()), TypeError, "a WindowFunction or"),
        (lambda k: k.window(SECONDS).aggregate(Add()), TypeError, "an AggregateFunction object"),
        (lambda k: k.window(SECONDS).aggregate(Mean), TypeError, "an AggregateFunction object"),
        (lambda k: k.window(SECONDS).aggregate(Mean(), ProcessAll()), TypeError, "a WindowFunct"),
        (
            lambda k: k.window(SECONDS).aggregate(Mean(), accumulator_type=int),
            TypeError,
            "accumulator_type.*expected one of Types",
        ),
        (lambda k: k.window(SECONDS).apply(Process()), TypeError, "expected a WindowFunction"),
        (lambda k: k.window(SECONDS).process(Apply()), TypeError, "a ProcessWindowFunction"),
        (lambda k: k.window(SECONDS).apply(Apply(), str), TypeError, "expected one of Types"),
        (lambda k: k.window_all(SECONDS).apply(Apply()), TypeError, "an AllWindowFunction"),
        (lambda k: k.window_all(SECONDS).process(Process()), TypeError, "a ProcessAllWindow"),
        (lambda k: k.window_all(SECONDS).reduce(Add(), Apply()), TypeError, "an AllWindowFunc"),
    ],
)
def test_what_does_not_fit_is_refused(
    keyed: KeyedStream, build: Callable[[Any], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        build(keyed)


def test_a_row_of_types_may_stand_for_the_accumulators_type(keyed: KeyedStream) -> None:
    types = [Types.LONG(), Types.LONG()]

    assert spec_of(keyed.window(SECONDS).aggregate(Mean(), accumulator_type=types)).function is None


def test_sessions_refuse_a_trigger_that_cannot_merge(keyed: KeyedStream) -> None:
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(1)))

    with pytest.raises(ProgramError, match=r"EventTimeSessionWindows\(1000\).*cannot merge"):
        sessions.trigger(NeverTrigger())


@pytest.mark.parametrize("assigner", [TumblingProcessingTimeWindows.of(5), GlobalWindows.create()])
def test_windows_without_event_time_refuse_lateness(
    keyed: KeyedStream, assigner: WindowAssigner[Any, Any]
) -> None:
    with pytest.raises(ProgramError, match="no record is ever late"):
        keyed.window(assigner).allowed_lateness(1)
    keyed.window(assigner).allowed_lateness(0)


def test_late_records_go_to_one_side_output_of_one_type(keyed: KeyedStream) -> None:
    windows = keyed.window(SECONDS).side_output_late_data(OutputTag("late", TYPE))

    with pytest.raises(ProgramError, match=r"already go to .*'late'.*call it once"):
        windows.side_output_late_data(OutputTag("later"))
    with pytest.raises(ProgramError, match="side output 'late' is read as"):
        windows.reduce(Add()).get_side_output(OutputTag("late", Types.STRING()))


def test_batch_mode_holds_event_time_back_until_the_end(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda order, _: order[1]
    )
    timed = env.from_collection([("a", 1)]).assign_timestamps_and_watermarks(strategy)
    windows = timed.key_by(lambda order: order[0]).window(TumblingProcessingTimeWindows.of(5))
    result = windows.reduce(Add())
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    specs = [node.spec for node in graph_of(result).nodes]

    [held] = [_strategy_of(spec) for spec in specs if _strategy_of(spec) is not None]
    assert held.generation == NoWatermarks()
    assert held.timestamp_assigner is strategy.timestamp_assigner
    assert [spec.fire_open_at_end for spec in specs if isinstance(spec, WindowSpec)] == [True]


def _strategy_of(spec: Any) -> Any:
    match spec:
        case TimestampsAndWatermarksSpec():
            return spec.strategy
        case SourceSpec():
            return spec.watermark_strategy
    return None


def test_event_time_windows_need_no_push_at_the_end_in_batch_mode(
    env: StreamExecutionEnvironment, keyed: KeyedStream
) -> None:
    result = keyed.window(SlidingEventTimeWindows.of(10, 5)).reduce(Add())
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    assert not spec_of(result).fire_open_at_end


def test_a_partitioned_stream_can_be_taken_as_keyed_without_an_exchange(
    keyed: KeyedStream,
) -> None:
    again = DataStreamUtils.reinterpret_as_keyed_stream(keyed.sum(1), lambda order: order[0])
    result = again.sum(1)

    node = node_of(result)
    [edge] = graph_of(result).in_edges(node.id)
    assert isinstance(node.spec, ReduceSpec)
    assert isinstance(edge.partitioning, Forward)
    assert node.key_selector is not None
    assert node.key_selector(("a", 1)) == "a"


def test_reinterpreting_refuses_what_is_no_stream_or_keyed_already(keyed: KeyedStream) -> None:
    with pytest.raises(ProgramError, match="the stream is keyed"):
        reinterpret_as_keyed_stream(keyed, lambda order: order[0])
    with pytest.raises(TypeError, match="expected a DataStream"):
        reinterpret_as_keyed_stream([("a", 1)], lambda order: order[0])  # type: ignore[arg-type]


def test_a_window_of_all_records_of_a_parallel_stream_gets_them_from_every_subtask(
    orders: DataStream,
) -> None:
    result = orders.map(lambda order: order).window_all(SECONDS).reduce(Add())

    [edge] = graph_of(result).in_edges(node_of(result).id)

    assert isinstance(edge.partitioning, Rebalance)
