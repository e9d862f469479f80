# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The ``windows`` workload on PyFlink in process mode; run with PyFlink's own interpreter.

As in ``pyflink_peer``: numbers from Flink's Java source, payments made by a Python map, a Java sink that
discards, Python workers of their own. Time counts from the last Python function opened to the last closed.
"""

import argparse

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, MapFunction, RuntimeContext
from pyflink.datastream.window import TumblingEventTimeWindows

from benchmarks.measurement import measure
from benchmarks.payments import (
    BOUND_MS,
    WINDOW_MS,
    Payment,
    Spend,
    customer_of,
    payment,
    time_of,
)
from benchmarks.peers.pyflink_peer import (
    SETTINGS,
    discard,
    environment_of,
    numbers_of,
    seconds_of,
    stamp,
)


class _Make(MapFunction):
    """The generator, with the times at which it opens and closes."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def open(self, runtime_context: RuntimeContext) -> None:
        stamp(self._stamps, "open")

    def map(self, value: int) -> Payment:
        return payment(value)

    def close(self) -> None:
        stamp(self._stamps, "close")


class _Time(TimestampAssigner):
    def extract_timestamp(self, value: Payment, record_timestamp: int) -> int:
        return time_of(value, record_timestamp)


class _Spend(Spend, AggregateFunction):
    """The sum, with the times at which the function opens and closes."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def open(self, runtime_context: RuntimeContext) -> None:
        stamp(self._stamps, "open")

    def close(self) -> None:
        stamp(self._stamps, "close")


def _execute(arguments: argparse.Namespace, records: int, stamps: str) -> None:
    environment = environment_of(arguments)
    triple = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    record_type = triple if arguments.types == "tuple" else Types.PICKLED_BYTE_ARRAY()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    stream = numbers_of(environment, arguments, records).map(_Make(stamps), record_type)
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(_Time()))
    windows = timed.key_by(customer_of, key_type=Types.LONG()).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    discard(
        windows.aggregate(_Spend(stamps), accumulator_type=Types.LONG(), output_type=Types.LONG())
    )
    environment.execute("windows")


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the last Python function opened to the last one closed."""
    return seconds_of(_execute, arguments, records)


if __name__ == "__main__":
    measure("pyflink", run, SETTINGS)
