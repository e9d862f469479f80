"""Process functions with a key: timers of both clocks, side outputs, time, state; and those without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.output_tag import OutputTag
from riverrun.api.process_functions import KeyedProcessFunction, ProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.testing.harness import OperatorHarness

BACKENDS = ["hashmap", "rocksdb"]
LATE = OutputTag("late")


class Scripted(KeyedProcessFunction):
    """Does what the record says: (key, clock, what to do, time)."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        _, what, time = value
        getattr(ctx.timer_service(), f"{what}_timer")(time)
        yield "set", ctx.get_current_key(), ctx.timestamp()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.timestamp() == timestamp
        service = ctx.timer_service()
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name, service.current_watermark()
        yield LATE, (ctx.get_current_key(), timestamp)


def scripted(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: value[0]).process(Scripted())


REGISTER = "register_event_time"
DELETE = "delete_event_time"
REGISTER_WALL = "register_processing_time"
DELETE_WALL = "delete_processing_time"


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_of_an_event_timer_have_its_time(backend: str) -> None:
    with OperatorHarness(scripted, backend=backend, side_outputs=[LATE]) as harness:
        harness.push(("a", REGISTER, 100), timestamp=7)
        harness.push(("b", REGISTER, 50))
        harness.push(("b", REGISTER, 60))
        harness.push(("b", DELETE, 60))
        assert harness.records() == [
            (("set", "a", 7), 7),
            (("set", "b", None), None),
            (("set", "b", None), None),
            (("set", "b", None), None),
        ]
        harness.watermark(99)
        assert harness.records() == [(("b", 50, "EVENT_TIME", 99), 50)]
        harness.watermark(120)
        assert harness.records() == [(("a", 100, "EVENT_TIME", 120), 100)]
        assert harness.side_output(LATE) == [("b", 50), ("a", 100)]
        assert harness.watermarks() == [99, 120]


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_of_a_wall_clock_timer_have_no_time(backend: str) -> None:
    with OperatorHarness(scripted, backend=backend, side_outputs=[LATE], start=1000) as harness:
        harness.push(("a", REGISTER_WALL, 1500), timestamp=7)
        harness.push(("a", REGISTER_WALL, 1600), timestamp=8)
        harness.push(("a", DELETE_WALL, 1600), timestamp=9)
        harness.records()
        harness.advance_clock(500)
        assert harness.records() == []
        harness.advance_clock(1)
        ((record, time),) = harness.records()
        assert record[:3] == ("a", 1500, "PROCESSING_TIME")
        assert time is None
        harness.advance_clock(5000)
        assert harness.records() == []
        assert harness.side_output(LATE) == [("a", 1500)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_end_of_input_fires_every_event_timer_and_no_wall_clock_timer(backend: str) -> None:
    with OperatorHarness(scripted, backend=backend) as harness:
        harness.push(("a", REGISTER, (1 << 63) - 1))
        harness.push(("a", REGISTER_WALL, 10_000))
        harness.output()
        harness.end_input()
        assert [record[:3] for record in harness.output()] == [("a", (1 << 63) - 1, "EVENT_TIME")]


@pytest.mark.parametrize("restored_as", BACKENDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_timers_of_both_clocks_are_in_snapshots(backend: str, restored_as: str) -> None:
    with OperatorHarness(scripted, backend=backend) as harness:
        for key in range(30):
            harness.push((key, REGISTER, key + 10))
            harness.push((key, REGISTER_WALL, 100 + key))
        harness.watermark(19)
        snapshot = harness.snapshot()
        harness.watermark(100)
    with OperatorHarness(scripted, backend=restored_as, restore=snapshot) as harness:
        harness.watermark(24)
        assert [record[:3] for record in harness.output()] == [
            (key, key + 10, "EVENT_TIME") for key in range(10, 15)
        ]
        harness.advance_clock(115)
        assert [record[:3] for record in harness.output()] == [
            (key, key + 100, "PROCESSING_TIME") for key in range(15)
        ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_timers_follow_their_keys_to_other_subtasks(backend: str) -> None:
    with OperatorHarness(scripted, backend=backend) as harness:
        for key in range(40):
            harness.push((key, REGISTER, key))
        snapshot = harness.snapshot()
    found: list[int] = []
    for subtask in range(3):
        with OperatorHarness(
            scripted, backend=backend, parallelism=3, subtask=subtask, restore=snapshot
        ) as harness:
            harness.watermark(100)
            mine = [key for key, *_ in harness.output()]
            assert mine == sorted(mine)
            found += mine
    assert sorted(found) == list(range(40))


class Inactive(KeyedProcessFunction):
    """Says when a key was not seen for a while: the last record's timer counts."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.due = runtime_context.get_state(ValueStateDescriptor("due"))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        time = ctx.timestamp()
        assert time is not None
        if (before := self.due.value()) is not None:
            ctx.timer_service().delete_event_time_timer(before)
        self.due.update(time + 100)
        ctx.timer_service().register_event_time_timer(time + 100)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        assert self.due.value() == timestamp
        self.due.clear()
        return [(ctx.get_current_key(), timestamp)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_belongs_to_the_key_of_the_timer(backend: str) -> None:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value).process(Inactive())

    with OperatorHarness(build, backend=backend) as harness:
        for time, key in ((0, "a"), (10, "b"), (50, "a"), (90, "b"), (95, "c")):
            harness.push(key, timestamp=time)
        harness.watermark(160)
        assert harness.output() == [("a", 150)]
        harness.push("a", timestamp=170)
        harness.watermark(1000)
        assert harness.output() == [("b", 190), ("c", 195), ("a", 270)]


class Counter(KeyedProcessFunction):
    """Yields nothing but from timers, a great many at once."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value % 3)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[int]:
        return [ctx.get_current_key()]


def test_many_timers_of_one_time_all_fire() -> None:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value).process(Counter())

    with OperatorHarness(build) as harness:
        harness.push_run(range(5000), list(range(5000)))
        harness.watermark(10)
        fired = harness.records()
    assert [time for _, time in fired] == sorted(key % 3 for key in range(5000))
    assert sorted(key for key, _ in fired) == list(range(5000))


class Fails(KeyedProcessFunction):
    """Raises in its timer."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        raise ValueError("broken")


def test_an_error_in_on_timer_names_the_operator_the_time_and_the_key() -> None:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value).process(Fails())

    with OperatorHarness(build) as harness:
        harness.push("some key")
        with pytest.raises(OperatorFailed, match="KeyedProcess") as caught:
            harness.watermark(10)
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert cause.__notes__ == ["in on_timer of the timer for 10 of key 'some key'"]


class OpensWithTimer(KeyedProcessFunction):
    """Sets a timer where there is no key, through a context that it kept."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        self.service = ctx.timer_service()

    def close(self) -> None:
        self.service.register_event_time_timer(10)


def test_a_timer_outside_of_a_call_is_refused() -> None:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value).process(OpensWithTimer())

    harness = OperatorHarness(build)
    harness.push("a")
    with pytest.raises(OperatorFailed) as caught:
        harness.close()
    assert "there is no current key" in str(caught.value.__cause__)


class WithoutKeys(ProcessFunction):
    """Reads the clocks, and sets a timer if told to."""

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        service = ctx.timer_service()
        if value == "set":
            service.register_processing_time_timer(10)
        yield value, service.current_watermark(), service.current_processing_time()


def test_a_process_function_without_keys_has_clocks_and_no_timers() -> None:
    with OperatorHarness(lambda stream: stream.process(WithoutKeys()), start=500) as harness:
        harness.watermark(7)
        harness.push("look")
        assert harness.output() == [("look", 7, 500)]
        with pytest.raises(OperatorFailed) as caught:
            harness.push("set")
    assert "timer for 10: the stream has no keys" in str(caught.value.__cause__)
    assert "use key_by first" in str(caught.value.__cause__)
