"""Window joins and co-groups, as one subtask sees them: any order, late records, all kinds of windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.checkpointed import CheckpointedFunction, CheckpointListener
from riverrun.api.evictors import CountEvictor
from riverrun.api.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ListStateDescriptor, ValueStateDescriptor
from riverrun.api.triggers import CountTrigger, PurgingTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.core.configuration import Configuration
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.tagged_records import TaggedUnion
from riverrun.graph.specs import WindowSpec
from riverrun.runtime.failures import OperatorFailed
from riverrun.testing.harness import OperatorHarness
from tests.oracles.joins import (
    Arrival,
    Event,
    Record,
    Session,
    Sliding,
    Tumbling,
    Windows,
    window_join_as_it_happens,
)

BACKENDS = ("hashmap", "rocksdb")
LATE, SIDE = OutputTag("late"), OutputTag("side")


def first_of(value: Any) -> Any:
    return value[0]


def tumbling(size: int) -> WindowAssigner[Any, Any]:
    return TumblingEventTimeWindows.of(Time.milliseconds(size))


def combined(how: str, assigner: WindowAssigner[Any, Any], function: Any, **extra: Any) -> Any:
    """What the harness builds: the window operator that a program makes of the join."""
    program = StreamExecutionEnvironment.get_execution_environment(Configuration())
    both = [program.from_collection([("k", 1)]) for _ in range(2)]
    windowed = getattr(both[0], how)(both[1]).where(first_of).equal_to(first_of).window(assigner)
    for name, value in extra.items():
        getattr(windowed, name)(value)
    operator = windowed.apply(function)._operator("test")
    program.close()

    def build(stream: DataStream) -> DataStream:
        return stream.key_by(operator.key_selector)._then(operator.name, operator.spec, None)

    assert isinstance(operator.spec, WindowSpec)
    return build


def push(harness: OperatorHarness, side: int, value: Any, time: int) -> None:
    harness.push(TaggedUnion(side, value), time)


class Pair(JoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return first[1], second[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_join_gives_each_pair_of_a_window_once_with_the_windows_last_timestamp(
    backend: str,
) -> None:
    with OperatorHarness(combined("join", tumbling(10), Pair()), backend=backend) as harness:
        push(harness, 1, ("a", "L1"), 1)
        push(harness, 1, ("a", "L9"), 9)
        push(harness, 2, ("a", "R3"), 3)
        push(harness, 2, ("b", "alone"), 3)
        push(harness, 2, ("a", "R10"), 10)
        snapshot = harness.snapshot()

    build = combined("join", tumbling(10), Pair())
    with OperatorHarness(build, backend=backend, restore=snapshot) as harness:
        harness.watermark(9)
        assert harness.records() == [(("L1", "R3"), 9), (("L9", "R3"), 9)]
        harness.end_input()
        assert harness.records() == []


class Flat(FlatJoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Iterator[Any] | None:
        if first[1] == second[1]:
            return iter([first[1], (SIDE, second[1])])
        return None


def test_a_flat_join_gives_any_number_and_side_outputs() -> None:
    build = combined("join", tumbling(10), Flat())
    with OperatorHarness(build, side_outputs=[SIDE]) as harness:
        for number in range(3):
            push(harness, 1, ("a", number), number)
            push(harness, 2, ("a", number + 1), number)
        harness.watermark(9)

        assert harness.output() == [1, 2]
        assert harness.side_output(SIDE) == [1, 2]


def test_a_plain_callable_joins_too() -> None:
    build = combined("join", tumbling(10), lambda first, second: first[1] + second[1])
    with OperatorHarness(build) as harness:
        push(harness, 1, ("a", 1), 1)
        push(harness, 2, ("a", 2), 1)
        harness.watermark(9)

        assert harness.output() == [3]


class Outer(CoGroupFunction[Any, Any, Any]):
    """A full outer join."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any] | None:
        lefts, rights = list(first) or [("", None)], list(second) or [("", None)]
        if lefts[0][1] == "nothing":
            return None
        return iter([(left[1], right[1]) for left in lefts for right in rights])


def test_a_co_group_sees_windows_with_an_empty_side() -> None:
    with OperatorHarness(combined("co_group", tumbling(10), Outer())) as harness:
        push(harness, 1, ("a", "L"), 1)
        push(harness, 2, ("b", "R"), 2)
        push(harness, 1, ("c", "L"), 3)
        push(harness, 2, ("c", "R"), 4)
        push(harness, 1, ("d", "nothing"), 4)
        harness.watermark(9)

        assert sorted(harness.output(), key=str) == [("L", "R"), ("L", None), (None, "R")]


def test_late_records_come_out_as_they_went_in() -> None:
    build = combined("join", tumbling(10), Pair(), side_output_late_data=LATE)
    with OperatorHarness(build, side_outputs=[LATE]) as harness:
        harness.watermark(9)
        push(harness, 1, ("a", "L"), 5)
        push(harness, 2, ("a", "R"), 6)

        assert harness.side_output(LATE) == [("a", "L"), ("a", "R")]
        assert harness.output() == []


def test_triggers_and_evictors_see_tagged_records() -> None:
    build = combined(
        "join",
        tumbling(100),
        Pair(),
        trigger=PurgingTrigger.of(CountTrigger.of(4)),
        evictor=CountEvictor.of(3),
    )
    with OperatorHarness(build) as harness:
        for number in range(2):
            push(harness, 1, ("a", f"L{number}"), number)
            push(harness, 2, ("a", f"R{number}"), number)

        assert harness.output() == [("L1", "R0"), ("L1", "R1")]


class Lively(CoGroupFunction[Any, Any, Any], CheckpointedFunction, CheckpointListener):
    """Uses all that a function object may use."""

    def __init__(self) -> None:
        self.opened, self.completed = False, 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = True
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired"))

    def initialize_state(self, context: Any) -> None:
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept"))
        self.completed = sum(self.kept.get())

    def snapshot_state(self, context: Any) -> None:
        self.kept.update([self.completed])

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.completed += 1

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        assert self.opened
        self.fired.update((self.fired.value() or 0) + 1)
        yield self.fired.value(), self.completed


def test_the_function_lives_as_on_any_stream() -> None:
    build = combined("co_group", tumbling(10), Lively())
    with OperatorHarness(build) as harness:
        push(harness, 1, ("a", 1), 1)
        push(harness, 1, ("a", 1), 11)
        harness.snapshot()
        harness.watermark(9)
        assert harness.output() == [(1, 1)]
        snapshot = harness.snapshot()

    with OperatorHarness(build, restore=snapshot) as harness:
        harness.watermark(19)
        assert harness.output() == [(2, 1)]


def test_a_failure_names_the_operator_and_the_window() -> None:
    build = combined("join", tumbling(10), lambda first, second: first / second)
    with OperatorHarness(build) as harness:
        push(harness, 1, ("a", 1), 1)
        push(harness, 2, ("a", 2), 1)
        with pytest.raises(OperatorFailed, match=r"TumblingEventTimeWindows.*window TimeWindow"):
            harness.watermark(9)


ASSIGNERS: list[tuple[Windows, WindowAssigner[Any, Any]]] = [
    (Tumbling(7, 3), TumblingEventTimeWindows.of(Time.milliseconds(7), Time.milliseconds(3))),
    (Sliding(9, 4), SlidingEventTimeWindows.of(Time.milliseconds(9), Time.milliseconds(4))),
    (Session(4), EventTimeSessionWindows.with_gap(Time.milliseconds(4))),
]

times = st.integers(0, 40)
arrivals = st.builds(
    Arrival,
    st.sampled_from(["left", "right"]),
    st.builds(Record, st.sampled_from("ab"), st.just(None), times),
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.one_of(arrivals, arrivals, times), max_size=40),
    st.sampled_from(ASSIGNERS),
    st.sampled_from([0, 0, 5]),
)
def test_every_order_gives_what_the_definition_says(
    drawn: list[Event], kind: tuple[Windows, WindowAssigner[Any, Any]], lateness: int
) -> None:
    windows, assigner = kind
    if isinstance(windows, Session):
        lateness = 0
    events: list[Event] = [
        event if isinstance(event, int) else event._replace(record=event.record._replace(value=n))
        for n, event in enumerate(drawn)
    ]
    expected = window_join_as_it_happens(events, windows, lateness)
    extra = {"allowed_lateness": lateness, "side_output_late_data": LATE}

    with OperatorHarness(combined("join", assigner, Pair(), **extra), side_outputs=[LATE]) as it:
        for event in events:
            if isinstance(event, int):
                it.watermark(event)
            else:
                record = event.record
                side = 1 if event.side == "left" else 2
                push(it, side, (record.key, record.value), record.time)
        results = Counter((*pair, time) for pair, time in it.records())
        late = sorted(value for _, value in it.side_output(LATE))

    assert results == expected.results
    assert late == sorted(expected.late["left"] + expected.late["right"])
