"""Spend per customer and minute of event time; payments that come too late are shown apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from riverrun import (
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkGenerator,
    WatermarkStrategy,
)

# Customer, amount, second at which it was paid; in the order in which they arrive. The 7 is
# out of order, but not by much; the 100 comes when its minute is over, the watermark stands at 85.
PAYMENTS = [("ada", 10, 5), ("bob", 20, 12), ("ada", 5, 58), ("ada", 7, 51), ("bob", 3, 70)]
PAYMENTS += [("bob", 4, 95), ("ada", 100, 30), ("ada", 1, 130)]
LATE = OutputTag("late")


class TenSecondsBehind(WatermarkGenerator):
    """Tells the time after every payment; a long stream had better use for_bounded_out_of_orderness."""

    newest = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:  # noqa: ARG002
        self.newest = max(self.newest, event_timestamp)
        output.emit_watermark(self.newest - 10_000)

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing: all was said in ``on_event``."""


class Describe(ProcessWindowFunction[Any, str, str, Any]):
    """Says whose total it is, and of which minute."""

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[str]:
        for _, total, _ in elements:
            yield f"minute {context.window().start // 60_000}: {key} spent {total}"


with StreamExecutionEnvironment.get_execution_environment() as env:
    env.set_parallelism(1)
    time = WatermarkStrategy.for_generator(TenSecondsBehind)
    spend = (
        env.from_collection(PAYMENTS)
        .assign_timestamps_and_watermarks(time.with_timestamp_assigner(lambda p, _: p[2] * 1000))
        .key_by(lambda payment: payment[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .side_output_late_data(LATE)
        .reduce(lambda a, b: (a[0], a[1] + b[1], b[2]), Describe())
    )
    late = spend.get_side_output(LATE).map(lambda payment: f"too late: {payment}")
    spend.union(late).print()
    env.execute("windowed spend")
