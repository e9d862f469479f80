"""Operators over two connected streams: each input its method, one key's state and timers for both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.timer_service import TimeDomain
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.testing.harness import OperatorHarness

ODD = OutputTag("odd")
BACKENDS = ("hashmap", "rocksdb")


class Either(CoMapFunction):
    def map1(self, value: int) -> str | None:
        return None if value == 0 else f"one {value}"

    def map2(self, value: int) -> str | None:
        return None if value == 0 else f"two {value}"


def test_a_co_map_gives_one_record_for_each_and_none_for_none() -> None:
    with OperatorHarness(lambda a, b: a.connect(b).map(Either()), inputs=2) as harness:
        harness.push_run([1, 0, 2], [10, 20, 30])
        harness.push_run([0, 3], second=True)
        harness.push_run([0], [5])

        assert harness.records() == [("one 1", 10), ("one 2", 30), ("two 3", None)]


class Repeat(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[str]:
        return iter(["one"] * value)

    def flat_map2(self, value: int) -> list[str] | None:
        return ["two"] * value if value else None


def test_a_co_flat_map_gives_any_number() -> None:
    with OperatorHarness(lambda a, b: a.connect(b).flat_map(Repeat()), inputs=2) as harness:
        harness.push_run([2, 0], [10, 20])
        harness.push_run([0, 1], [30, 40], second=True)
        harness.push_run([0, 2], second=True)

        assert harness.records() == [
            ("one", 10),
            ("one", 10),
            ("two", 40),
            ("two", None),
            ("two", None),
        ]


class Balance(CoFlatMapFunction):
    """What came in on the first stream less what went out on the second, for each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def flat_map1(self, value: tuple[str, int]) -> Iterator[Any]:
        return self._add(value[0], value[1])

    def flat_map2(self, value: tuple[int, str]) -> Iterator[Any]:
        return self._add(value[1], -value[0])

    def _add(self, name: str, amount: int) -> Iterator[Any]:
        total = (self.sum.value() or 0) + amount
        self.sum.update(total)
        yield name, total


class BalanceMap(CoMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def map1(self, value: tuple[str, int]) -> Any:
        self.sum.update((self.sum.value() or 0) + value[1])
        return value[0], self.sum.value()

    def map2(self, value: tuple[int, str]) -> Any:
        self.sum.update((self.sum.value() or 0) - value[0])
        return value[1], self.sum.value()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", ["map", "flat_map"])
def test_both_inputs_share_the_state_of_a_key(backend: str, how: str) -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        keyed = first.connect(second).key_by(lambda value: value[0], lambda value: value[1])
        return keyed.map(BalanceMap()) if how == "map" else keyed.flat_map(Balance())

    with OperatorHarness(build, inputs=2, backend=backend) as harness:
        harness.push_run([("a", 5), ("b", 1)])
        harness.push_run([(2, "a"), (7, "c")], second=True)
        snapshot = harness.snapshot()
        assert harness.output() == [("a", 5), ("b", 1), ("a", 3), ("c", -7)]

    with OperatorHarness(build, inputs=2, backend=backend, restore=snapshot) as harness:
        harness.push_run([(1, "a")], second=True)
        harness.push_run([("c", 7)])
        assert harness.output() == [("a", 2), ("c", 0)]


class Clocked(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any] | None:
        return iter([(ODD, value)]) if value % 2 else None


def test_a_process_function_sees_time_and_has_side_outputs() -> None:
    with OperatorHarness(
        lambda a, b: a.connect(b).process(Clocked()), inputs=2, side_outputs=[ODD]
    ) as harness:
        harness.push(1, 10)
        harness.watermark_of(0, 9)
        harness.push(2, 11)
        harness.watermark_of(1, 5)
        harness.push(3)
        harness.push_run([4, 5], second=True)

        lowest = -(1 << 63)
        assert harness.records() == [
            ((1, 10, lowest), 10),
            ((2, 11, lowest), 11),
            ((3, None, 5), None),
        ]
        assert harness.side_output(ODD) == [5]
        assert harness.watermarks() == [5]


class SetsTimer(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> None:
        pass


def test_timers_without_a_keyed_function_are_refused() -> None:
    with OperatorHarness(lambda a, b: a.connect(b).process(SetsTimer()), inputs=2) as harness:
        with pytest.raises(OperatorFailed, match="'Co-Process' failed at record 7") as failed:
            harness.push(7)
        assert isinstance(failed.value.__cause__, ProgramError)
        assert "key_by" in str(failed.value.__cause__)


class Pending(KeyedCoProcessFunction):
    """An order waits 10 ms (event time) for its payment, a payment 10 ms (wall clock) for its order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.order = runtime_context.get_state(ValueStateDescriptor("order"))
        self.payment = runtime_context.get_state(ValueStateDescriptor("payment"))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        key, now = ctx.get_current_key(), ctx.timestamp()
        assert now is not None
        if self.payment.value() is None:
            self.order.update(value)
            ctx.timer_service().register_event_time_timer(now + 10)
        else:
            self.payment.clear()
            yield key, "paid before"

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        key, timers = ctx.get_current_key(), ctx.timer_service()
        if self.order.value() is None:
            self.payment.update(value)
            timers.register_processing_time_timer(timers.current_processing_time() + 10)
        else:
            self.order.clear()
            yield key, "paid"

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterator[Any] | None:
        assert ctx.timestamp() == timestamp
        if ctx.time_domain() is TimeDomain.EVENT_TIME and self.order.value() is not None:
            self.order.clear()
            return iter([(ctx.get_current_key(), "not paid"), (ODD, timestamp)])
        if ctx.time_domain() is TimeDomain.PROCESSING_TIME and self.payment.value() is not None:
            return iter([(ctx.get_current_key(), "not ordered")])
        return None


def pending(orders: DataStream, payments: DataStream) -> DataStream:
    keyed = orders.key_by(lambda order: order[0]).connect(
        payments.key_by(lambda payment: payment[1])
    )
    return keyed.process(Pending())


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_inputs_share_the_timers_of_a_key(backend: str) -> None:
    with OperatorHarness(
        pending, inputs=2, side_outputs=[ODD], backend=backend, start=1000
    ) as harness:
        harness.push_run([("a", 1), ("b", 2)], [1, 2])
        harness.push_second((9, "a"), 3)
        harness.push_run([(9, "c"), (9, "d")], [4, 5], second=True)
        harness.push(("d", 3), 6)
        assert harness.records() == [(("a", "paid"), 3), (("d", "paid before"), 6)]

        harness.watermark_of(0, 100)
        assert harness.records() == []
        harness.watermark_of(1, 12)

        assert harness.records() == [(("b", "not paid"), 12)]
        assert harness.side_output(ODD) == [12]
        harness.advance_clock(11)
        assert harness.records() == [(("c", "not ordered"), None)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_timers_of_connected_streams_are_part_of_snapshots(backend: str) -> None:
    with OperatorHarness(pending, inputs=2, backend=backend, start=1000) as harness:
        harness.push(("a", 1), 1)
        harness.push_second((9, "c"), 4)
        snapshot = harness.snapshot()

    with OperatorHarness(
        pending, inputs=2, backend=backend, start=2000, restore=snapshot
    ) as harness:
        harness.advance_clock(0)
        assert harness.records() == [(("c", "not ordered"), None)]
        harness.watermark(11)
        assert harness.records() == [(("a", "not paid"), 11)]


class ManyTimers(KeyedCoProcessFunction):
    def process_element1(self, value: int, ctx: KeyedCoProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def process_element2(self, value: int, ctx: KeyedCoProcessFunction.Context) -> None:
        pass

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[int]:
        yield timestamp


def test_many_timers_fire_in_order_of_time() -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        return first.connect(second).key_by(lambda v: v % 7, lambda v: v % 7).process(ManyTimers())

    with OperatorHarness(build, inputs=2) as harness:
        harness.push_run(list(reversed(range(3000))))
        harness.end_input()

        assert harness.records() == [(time, time) for time in range(3000)]


class Fails(CoMapFunction, CoFlatMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return 1 // value

    flat_map1 = map1
    flat_map2 = map2


class FailsInProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield 1 // value


class FailsInKeyedProcess(KeyedCoProcessFunction):
    process_element1 = FailsInProcess.process_element1
    process_element2 = FailsInProcess.process_element2


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("how", ["map", "flat_map", "process"])
@pytest.mark.parametrize("timed", [False, True])
def test_a_failure_names_the_operator_and_the_record(how: str, *, keyed: bool, timed: bool) -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        connected = first.connect(second)
        if keyed:
            connected = connected.key_by(lambda value: value, lambda value: value)
        in_process = FailsInKeyedProcess() if keyed else FailsInProcess()
        func: Any = in_process if how == "process" else Fails()
        made: DataStream = getattr(connected, how)(func)
        return made.name("the join")

    with OperatorHarness(build, inputs=2) as harness:
        with pytest.raises(OperatorFailed, match="'the join' failed at record 0") as failed:
            harness.push_run([0], [1] if timed else None, second=True)
        assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_a_timer_that_is_due_after_the_end_of_input_does_not_keep_the_task_awake() -> None:
    with OperatorHarness(pending, inputs=2, start=1000) as harness:
        harness.push_second((9, "c"), 4)
        harness.end_input()

        harness.advance_clock(100)  # would never come back

        assert harness.output() == []
