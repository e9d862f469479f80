"""The pipeline on riverrun: generator, ``key_by``, ``reduce``, sink."""

import argparse
from typing import Any

from benchmarks.latencies.timed import Samples, Schedule, Timed, add_timed, customer_of, measured
from benchmarks.measurement import PARALLELISM
from riverrun import RuntimeContext, SinkFunction, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction

SETTINGS = {"buffer_timeout": "", "every": "1"}
"""``buffer_timeout``: in milliseconds; riverrun's default if empty. ``every``: of how many records one counts."""


class _Make(GeneratorFunction):
    """Makes each record with the moment at which it was due."""

    def __init__(self, rate: int) -> None:
        self._rate = rate

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self._schedule = Schedule(self._rate)

    def map(self, value: int) -> Timed:
        return self._schedule.timed(value)


class _Arrivals(SinkFunction):
    """Takes the latency of each record."""

    def __init__(self, folder: str, every: int) -> None:
        self._folder, self._every = folder, every

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self._samples = Samples(self._folder, self._every)

    def invoke(self, value: Timed, context: Any) -> None:
        del context
        self._samples.take(value[2])

    def close(self) -> None:
        self._samples.save()


def run(arguments: argparse.Namespace, records: int) -> None:
    """Run the job to the end."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(PARALLELISM)
    if arguments.buffer_timeout:
        environment.set_buffer_timeout(int(arguments.buffer_timeout))
    source = DataGeneratorSource(
        _Make(arguments.rate), records, rate_per_second=float(arguments.rate)
    )
    made = environment.from_source(source, WatermarkStrategy.no_watermarks(), "timed")
    sink = _Arrivals(arguments.folder, int(arguments.every))
    made.key_by(customer_of).reduce(add_timed).add_sink(sink)
    environment.execute("latency")


if __name__ == "__main__":
    measured(run, SETTINGS)
