"""The harness drives an operator: what goes in, what comes out, and what stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import ValueStateDescriptor
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.graph.key_groups import group_range
from riverrun.runtime.failures import OperatorFailed
from riverrun.serde.key_hash import key_group
from riverrun.testing.harness import OperatorHarness

SEEN = ValueStateDescriptor("seen")
ODD = OutputTag("odd")


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(SEEN)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.seen.value() or 0) + 1
        self.seen.update(count)
        yield ctx.get_current_key(), count


class Sort(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


def counted(stream: DataStream) -> DataStream:
    return stream.key_by(lambda word: word).process(Count())


class Alarm(KeyedProcessFunction):
    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(100)
        ctx.timer_service().register_processing_time_timer(50)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_timers_are_counted_and_fire_as_the_test_moves_time(backend: str) -> None:
    def alarmed(stream: DataStream) -> DataStream:
        return stream.key_by(lambda word: word).process(Alarm())

    with OperatorHarness(alarmed, backend=backend) as harness:
        harness.push("a", timestamp=1)
        harness.push("a", timestamp=2)
        assert (harness.event_timers(), harness.processing_timers()) == (1, 1)

        harness.advance_clock(60)
        harness.watermark(99)
        assert harness.records() == [(("a", 50, "PROCESSING_TIME"), None)]
        harness.watermark(100)
        assert harness.records() == [(("a", 100, "EVENT_TIME"), 100)]
        assert (harness.event_timers(), harness.processing_timers()) == (0, 0)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_state_can_be_looked_at_and_goes_on_in_another_harness(backend: str) -> None:
    with OperatorHarness(counted, backend=backend) as first:
        first.push("a")
        first.push("a")
        first.push("b")
        assert first.output() == [("a", 1), ("a", 2), ("b", 1)]
        seen: Any = first.state(SEEN, "a")
        assert seen.value() == 2
        assert sorted(first.keys("seen")) == ["a", "b"]
        snapshot = first.snapshot()

    with OperatorHarness(counted, backend="hashmap", restore=snapshot) as second:
        second.push("a")
        assert second.output() == [("a", 3)]


def test_state_follows_its_key_to_another_parallelism() -> None:
    words = [f"word {number}" for number in range(20)]
    with OperatorHarness(counted) as first:
        first.push_run(words)
        snapshot = first.snapshot()

    found: list[str] = []
    for subtask in range(3):
        with OperatorHarness(counted, parallelism=3, subtask=subtask, restore=snapshot) as part:
            found += part.keys("seen")

    assert sorted(found) == sorted(words)


def test_snapshots_of_several_subtasks_come_together_in_one() -> None:
    words = [f"word {number}" for number in range(20)]
    snapshots = []
    for subtask in range(2):
        with OperatorHarness(counted, parallelism=2, subtask=subtask) as part:
            first, last = group_range(subtask, 2, 128)
            part.push_run([word for word in words if first <= key_group(word, 128) <= last])
            snapshots.append(part.snapshot())

    with OperatorHarness(counted, restore=snapshots) as whole:
        assert sorted(whole.keys("seen")) == sorted(words)


def test_side_outputs_timestamps_and_watermarks_come_out() -> None:
    with OperatorHarness(lambda stream: stream.process(Sort()), side_outputs=[ODD]) as harness:
        harness.push_run([1, 2, 3], [10, 20, 30])
        harness.watermark(15)
        harness.idle()
        assert harness.records() == [(2, 20)]
        assert harness.side_output(ODD) == [1, 3]
        assert harness.watermarks() == [15]
        with pytest.raises(ProgramError, match="'late' was not declared"):
            harness.side_output(OutputTag("late"))


def test_a_program_of_two_tasks_is_refused() -> None:
    def two(stream: DataStream) -> DataStream:
        return stream.map(str).rebalance().map(str)

    with pytest.raises(ProgramError, match="has 2 tasks"):
        OperatorHarness(two)


def test_what_a_function_raises_names_operator_and_record() -> None:
    harness = OperatorHarness(lambda stream: stream.map(lambda n: 1 // n).name("divide"))
    with pytest.raises(OperatorFailed, match="divide") as caught:
        harness.push(0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    harness.close()


def test_an_input_that_does_not_exist_is_refused() -> None:
    with (
        OperatorHarness(lambda stream: stream.map(str)) as harness,
        pytest.raises(ProgramError, match="has no input 1"),
    ):
        harness.push_second("x")


def test_an_operator_alone_is_not_held_back_for_consumers_that_do_not_exist() -> None:
    debloated = {"taskmanager.network.memory.buffer-debloat.enabled": "true"}
    with OperatorHarness(counted, config=debloated) as harness:
        harness.push_run(["a"] * 100)

        assert harness.output()[-1] == ("a", 100)
