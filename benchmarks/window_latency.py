"""From the watermark that ends a window to its results at the sink: ``python -m benchmarks.window_latency``.

Records at 10,000/s carry the wall-clock time at which they were made as their event time; they are summed
per customer in windows of one second. Each source notes when it emits which watermark, and the sink, in
its worker, when a result comes. A window is over when the last source has emitted a watermark that
passes its end: from there to the sink is the delay. The part of it after the window operator, which
stamps its results, is shown beside it. All processes share one clock, that of this machine; the first
seconds are warm-up and do not count.
"""

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

from benchmarks.latency import quantile
from benchmarks.payments import Payment, Spend, customer_of, payment, time_of
from riverrun import (
    AggregateFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
    TimeWindow,
    TumblingEventTimeWindows,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource

_RATE: Final = 10_000
_WINDOW_MS: Final = 1_000
_WARM_UP_SECONDS: Final = 5
_WANTED_P99_MS: Final = 50.0

Result: TypeAlias = tuple[int, int, int]
"""Sum, end of the window, nanoseconds since the epoch at which the window fired."""


def payment_now(index: int) -> Payment:
    """The payment with the time of its making."""
    customer, amount, _ = payment(index)
    return customer, amount, time.time_ns() // 1_000_000


class NotedWatermarks(WatermarkGenerator):
    """For ascending times; each watermark is noted in a file with the time at which it is emitted."""

    def __init__(self, folder: str) -> None:
        self._notes = Path(folder, f"source-{uuid.uuid4()}.txt")
        self._latest = self._emitted = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Learn."""
        del event, output
        self._latest = max(self._latest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit, and note it."""
        watermark = self._latest - 1
        if watermark > self._emitted:
            self._emitted = watermark
            output.emit_watermark(watermark)
            with self._notes.open("a") as notes:
                notes.write(f"{watermark} {time.time_ns()}\n")


class SpendFunction(Spend, AggregateFunction):
    """The sum for riverrun."""


class Stamped(ProcessWindowFunction[int, Result, int, TimeWindow]):
    """The sum with its window and the time at which that fired."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterable[Result]:
        """One result."""
        del key
        for element in elements:
            yield element, context.window().end, time.time_ns()


class ArrivalSink(SinkFunction):
    """Keeps (end of the window, fired at, arrived at) and writes them to a file of its own at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._arrivals: list[tuple[int, int, int]] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        """Start with none."""
        del runtime_context
        self._arrivals = []

    def invoke(self, value: Result, context: Any) -> None:
        """Take the time."""
        del context
        self._arrivals.append((value[1], value[2], time.time_ns()))

    def close(self) -> None:
        """Leave what was seen where the driver finds it."""
        path = Path(self._folder, f"sink-{uuid.uuid4()}.json")
        path.write_text(json.dumps(self._arrivals))


@dataclass(frozen=True)
class Delays:
    """Sorted delays of one run in milliseconds."""

    from_watermark: list[float]
    from_firing: list[float]


def delays(parallelism: int, buffer_timeout_ms: int, interval_ms: int, seconds: int) -> Delays:
    """Run the job, and work out the delays without the warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        environment = StreamExecutionEnvironment.get_execution_environment(
            {"pipeline.auto-watermark-interval": f"{interval_ms} ms"}
        )
        environment.set_parallelism(parallelism)
        environment.set_buffer_timeout(buffer_timeout_ms)
        count = _RATE * (seconds + _WARM_UP_SECONDS)
        source = DataGeneratorSource(payment_now, count, rate_per_second=_RATE)
        strategy = WatermarkStrategy.for_generator(lambda: NotedWatermarks(folder))
        strategy = strategy.with_timestamp_assigner(time_of)
        stream = environment.from_source(source, strategy, "payments")
        windows = stream.key_by(customer_of).window(TumblingEventTimeWindows(_WINDOW_MS))
        # Results cross an exchange, as they would on their way to a sink of another parallelism.
        results = windows.aggregate(SpendFunction(), Stamped()).rebalance()
        results.add_sink(ArrivalSink(folder))
        environment.execute(f"window latency at parallelism {parallelism}")
        notes = [_noted(path) for path in Path(folder).glob("source-*.txt")]
        arrivals = [
            tuple(arrival)
            for path in Path(folder).glob("sink-*.json")
            for arrival in json.loads(path.read_text())
        ]
    return _worked_out(notes, arrivals, parallelism)


def _noted(path: Path) -> list[tuple[int, int]]:
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(int(watermark), int(emitted)) for watermark, emitted in lines]


def _worked_out(
    notes: list[list[tuple[int, int]]], arrivals: list[tuple[int, ...]], parallelism: int
) -> Delays:
    """Delays of windows that a watermark ended, the end of input did not, after the warm-up."""
    if len(notes) != parallelism:
        raise SystemExit(
            f"window latency: {len(notes)} sources noted watermarks, not {parallelism}"
        )
    counted_from = min(end for end, _, _ in arrivals) + _WARM_UP_SECONDS * 1_000
    passed: dict[int, int | None] = {}
    from_watermark, from_firing = [], []
    for end, fired, arrived in arrivals:
        if end not in passed:
            moments = [_passing(noted, end) for noted in notes]
            known = [moment for moment in moments if moment is not None]
            passed[end] = max(known) if len(known) == len(moments) else None
        moment = passed[end]
        if end >= counted_from and moment is not None:
            from_watermark.append((arrived - moment) / 1e6)
            from_firing.append((arrived - fired) / 1e6)
    return Delays(sorted(from_watermark), sorted(from_firing))


def _passing(noted: list[tuple[int, int]], end: int) -> int | None:
    """When a source emitted a watermark that passes ``end``.

    >>> _passing([(5, 100), (9, 200), (14, 300)], 10)
    200
    """
    return next((emitted for watermark, emitted in noted if watermark >= end - 1), None)


def main() -> None:
    """Measure each combination and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.window_latency", description=__doc__
    )
    parser.add_argument("--seconds", type=int, default=60, help="counted seconds of each run")
    parser.add_argument("--parallelism", type=int, action="append")
    parser.add_argument("--buffer-timeout", type=int, action="append", help="milliseconds")
    parser.add_argument("--watermark-interval", type=int, default=200, help="milliseconds")
    arguments = parser.parse_args()
    console = Console(width=max(110, Console().width))
    table = Table(title=f"ms from watermark to result at {_RATE:,} records/s, windows of 1 s")
    headings = ("parallelism", "buffer timeout", "results", "p50", "p90", "p99", "max")
    for heading in (*headings, "wanted p99", "of it after firing: p50", "p99"):
        table.add_column(heading, justify="right")
    for parallelism in arguments.parallelism or (1, 2):
        for timeout in arguments.buffer_timeout or (10,):
            with console.status(f"parallelism {parallelism}, buffer timeout {timeout} ms"):
                found = delays(
                    parallelism, timeout, arguments.watermark_interval, arguments.seconds
                )
            ordered, after = found.from_watermark, found.from_firing
            met = quantile(ordered, 0.99) <= _WANTED_P99_MS
            table.add_row(
                str(parallelism),
                f"{timeout} ms",
                f"{len(ordered):,}",
                *(f"{quantile(ordered, share):.1f}" for share in (0.5, 0.9, 0.99, 1.0)),
                f"[{'green' if met else 'red'}]{_WANTED_P99_MS:.0f}[/]",
                *(f"{quantile(after, share):.1f}" for share in (0.5, 0.99)),
            )
    console.print(table)


if __name__ == "__main__":
    main()
