"""New timestamps and watermarks in the middle of a stream; those of the input end here."""

from __future__ import annotations

from typing import Any, ClassVar

from riverrun.core import options
from riverrun.core.time import to_millis
from riverrun.graph.specs import TimestampsAndWatermarksSpec
from riverrun.protocol.elements import MAX_WATERMARK
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.timestamps import assign_run
from riverrun.runtime.watermarks import StreamTime


class TimestampsAndWatermarksOperator(Operator):
    """Assigns timestamps and makes its own event time of them.

    Of the input's watermarks only the last one, of the end of input, goes on; its statuses do not.
    """

    passes_time: ClassVar[bool] = False
    takes_columns = True

    def __init__(self, spec: TimestampsAndWatermarksSpec) -> None:
        self._strategy = spec.strategy

    def open(self, context: OperatorContext) -> None:
        self._assign = assign_run(self._strategy, context.name, context.clock)
        self._output = context.time_output
        interval_ms = to_millis(options.AUTO_WATERMARK_INTERVAL.get(context.config))
        self._time = StreamTime(
            self._strategy,
            context.time_output,
            interval_ms,
            context.runtime.get_metrics_group(),
            context.clock.now(),
        )
        # Counts from the start: an input that never had a record can fall idle, too.
        self._time.split(None)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        times = timestamps if self._assign is None else self._assign(values, timestamps)
        self._time.take(None, values, times, emit)

    def advance(self, watermark: int, emit: Emit) -> None:
        del emit
        if watermark == MAX_WATERMARK:
            self._output.watermark(watermark)

    def due_at(self) -> int | None:
        due = self._time.due_at()
        return None if due is None else int(due)

    def run_due(self, now: int, emit: Emit) -> None:
        del emit
        self._time.periodic(now)

    def hold_time(self, *, held: bool) -> None:
        if held:
            self._time.hold()
        else:
            self._time.release()

    def stood_still(self, ms: float) -> None:
        self._time.stand_still(ms)
