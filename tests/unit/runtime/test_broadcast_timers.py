"""Functions over a keyed and a broadcast stream: timers, broadcast state in them, all keys' state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.broadcast_functions import KeyedBroadcastProcessFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.testing.harness import OperatorHarness

RULES = MapStateDescriptor("rules")
TOTAL = ValueStateDescriptor("total")
ASIDE = OutputTag("aside")


class Totals(KeyedBroadcastProcessFunction[str, Any, Any, Any]):
    """Adds up by key; a timer gives the total times the rule's factor."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> None:
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(100)
        ctx.timer_service().register_processing_time_timer(200)

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES)["factor"] = value
        seen = []

        def reset(key: str, state: Any) -> None:
            seen.append((key, state.value()))
            if state.value() > 10:
                state.clear()

        ctx.apply_to_keyed_state(TOTAL, reset)
        yield sorted(seen)

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterator[Any]:
        factor = ctx.get_broadcast_state(RULES)["factor"]
        assert factor is not None
        total = (self.total.value() or 0) * factor
        yield ctx.get_current_key(), total, ctx.time_domain().name, ctx.timestamp()
        yield ASIDE, ctx.current_watermark()


def build(keyed: DataStream, rules: DataStream) -> DataStream:
    broadcast = rules.broadcast(RULES)
    return keyed.key_by(lambda value: value[0]).connect(broadcast).process(Totals())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_timers_read_broadcast_state_and_survive_a_restore(backend: str) -> None:
    with OperatorHarness(build, inputs=2, backend=backend) as harness:
        harness.push(("a", 3), timestamp=1)
        harness.push(("b", 20), timestamp=1)
        harness.push_second(10)
        assert harness.output() == [[("a", 3), ("b", 20)]]
        snapshot = harness.snapshot()
    with OperatorHarness(
        build, inputs=2, backend=backend, restore=snapshot, side_outputs=[ASIDE]
    ) as harness:
        harness.watermark(150)
        assert sorted(harness.records()) == [
            (("a", 30, "EVENT_TIME", 100), 100),
            (("b", 0, "EVENT_TIME", 100), 100),
        ]
        assert harness.side_output(ASIDE) == [150, 150]
        harness.advance_clock(201)
        assert sorted(harness.records()) == [
            (("a", 30, "PROCESSING_TIME", 200), None),
            (("b", 0, "PROCESSING_TIME", 200), None),
        ]


class SetsInBroadcast(KeyedBroadcastProcessFunction[str, Any, Any, Any]):
    """Asks for a key on the side that has none."""

    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> None:
        self.service = ctx.timer_service()

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        self.service.register_event_time_timer(5)


def test_broadcast_records_have_no_key_and_set_no_timers() -> None:
    def build(keyed: DataStream, rules: DataStream) -> DataStream:
        keys = keyed.key_by(lambda value: value)
        return keys.connect(rules.broadcast(RULES)).process(SetsInBroadcast())

    with OperatorHarness(build, inputs=2) as harness:
        harness.push("a")
        with pytest.raises(OperatorFailed) as caught:
            harness.push_second(1)
    assert isinstance(caught.value.__cause__, ProgramError)
    assert "there is no current key" in str(caught.value.__cause__)
