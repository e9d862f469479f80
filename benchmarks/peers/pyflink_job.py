# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""What PyFlink's workloads share: environment, source, sink and clock; run with PyFlink's own interpreter.

Numbers come from Flink's own Java source, and a Python function makes each record. That source
hands out its splits on request, so the first reader to be up at times takes all and the other
workers idle; ``source=rebalance`` deals the numbers out evenly instead (``source=split`` does not).
The sink is Flink's own Java one that discards. Left alone, a local PyFlink job runs its Python functions in
the client's process, where all subtasks share one interpreter lock; here it gets real workers
(``mode=process``). With ``mode=thread`` the functions run inside the JVM instead, in an interpreter that
PemJa embeds: nothing is sent to and fro, but the subtasks share one interpreter lock.

The start of a job takes anything from five to ten seconds, which would drown what is measured, so
time counts from the moment the last generator is open until the last Python function is closed. Functions behind
an exchange open with their first record only, which with large bundles is when half of the work is done:
their opening does not count.
"""

import argparse
import os
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Read by PyFlink when a job starts: Python workers of their own instead of the client's process.
os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112  # PyFlink's own spelling

from pyflink.common import Configuration, Duration, TypeInformation, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    FlatMapFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors import Sink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.java_gateway import get_gateway

from benchmarks.measurement import measure, parallelism_of

SETTINGS = {
    "bundle_size": "10000",
    "bundle_time": "1000",
    "state_cache": "20000",
    "object_reuse": "true",
    "types": "tuple",
    "buffer_timeout": "100",
    "source": "rebalance",
    "mode": "process",
    "warm_up": "",
}
"""``warm_up``: records of the first run, which does not count; as many as in the small run if empty."""


def _stamp(stamps: str, moment: str) -> None:
    # The monotonic clock is one for all processes of a machine.
    Path(stamps, f"{moment}-{uuid.uuid4()}").write_text(str(time.monotonic()))


class Stamped:
    """A function that notes when it closes; the last one of each workload does."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def close(self) -> None:
        """The last record is through."""
        _stamp(self._stamps, "close")


class _Generator(Stamped):
    """A first function, which notes when it opens too."""

    def __init__(self, stamps: str, make: Callable[[int], Any]) -> None:
        super().__init__(stamps)
        self._make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        """Time counts from now on."""
        _stamp(self._stamps, "open")


class Make(_Generator, MapFunction):
    """The generator: a record for each number."""

    def map(self, value: int) -> Any:
        """One record."""
        return self._make(value)


class MakeMany(_Generator, FlatMapFunction):
    """The generator of records that are made many at a time: a few for each number."""

    def flat_map(self, value: int) -> Iterable[Any]:
        """All that belong to the number."""
        return self._make(value)


class TimeOf(TimestampAssigner):
    """The event time by a function of the workload's."""

    def __init__(self, time_of: Callable[[Any, int], int]) -> None:
        self._time_of = time_of

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """As PyFlink asks for it."""
        return self._time_of(value, record_timestamp)


@dataclass(frozen=True)
class Job:
    """A job that is being put together.

    Attributes:
        environment: Where it is to run.
        arguments: The settings and the workload.
        records: How many records go through it.
        stamps: The folder in which its functions note their times.
    """

    environment: StreamExecutionEnvironment
    arguments: argparse.Namespace
    records: int
    stamps: str

    def type_of(self, *fields: TypeInformation) -> TypeInformation:
        """The type of tuples of these fields, or the setting's that makes no difference between fields."""
        return Types.TUPLE(list(fields)) if self.arguments.types == "tuple" else PICKLED

    def made(
        self, make: Callable[[int], Any], made: TypeInformation, records: int | None = None
    ) -> DataStream:
        """The records with numbers from 0 on; as many as the job has if not said otherwise."""
        count = self.records if records is None else records
        return self.numbers(count).map(Make(self.stamps, make), made)

    def numbers(self, count: int) -> DataStream:
        """The first whole numbers, from Flink's own source."""
        numbers = self.environment.from_source(
            NumberSequenceSource(0, count - 1),
            WatermarkStrategy.no_watermarks(),
            "numbers",
            Types.LONG(),
        )
        if self.arguments.source == "rebalance":
            numbers = numbers.set_parallelism(1).rebalance()
        return numbers


Build = Callable[[Job], DataStream]

PICKLED = Types.PICKLED_BYTE_ARRAY()


def timed(stream: DataStream, time_of: Callable[[Any, int], int], bound_ms: int) -> DataStream:
    """The records with event times, and watermarks that trail the latest of them by ``bound_ms``."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(TimeOf(time_of))
    )


def environment_of(arguments: argparse.Namespace) -> StreamExecutionEnvironment:
    """An environment with Python workers of its own, or with an interpreter in the JVM."""
    if arguments.mode == "thread":
        _share_packages()
    configuration = Configuration()
    for key, value in {
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "python.execution-mode": arguments.mode,
        "python.fn-execution.bundle.size": arguments.bundle_size,
        "python.fn-execution.bundle.time": arguments.bundle_time,
        "python.state.cache-size": arguments.state_cache,
        "pipeline.object-reuse": arguments.object_reuse,
        "state.backend.type": "hashmap",
        "taskmanager.memory.managed.size": "1g",
        "taskmanager.memory.network.max": "256m",
    }.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(parallelism_of(arguments.workload))
    environment.set_buffer_timeout(int(arguments.buffer_timeout))
    return environment


def _share_packages() -> None:
    # The embedded interpreter is the one that this environment was made with: it does not look here by itself.
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    packages = sysconfig.get_path("purelib")
    if packages not in found:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*found, packages]))


def seconds_of(build: Build, arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the last generator opened to the last Python function closed."""
    with tempfile.TemporaryDirectory() as stamps:
        job = Job(environment_of(arguments), arguments, records, stamps)
        java = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2
        build(job).sink_to(Sink(java.DiscardingSink()))
        started = time.perf_counter()
        job.environment.execute(arguments.workload)
        whole = time.perf_counter() - started
        opened = [float(path.read_text()) for path in Path(stamps).glob("open-*")]
        closed = [float(path.read_text()) for path in Path(stamps).glob("close-*")]
    print(f"{records} records: whole job {whole:.1f} s, {len(opened)} opened, {len(closed)} closed")
    return max(closed) - max(opened)


class Runs:
    """The runs of one measurement; the first of them warms up and may be smaller than it is told."""

    def __init__(self, builds: Mapping[str, Build]) -> None:
        self._builds = builds
        self._warm = False

    def __call__(self, arguments: argparse.Namespace, records: int) -> float:
        """Seconds that these records take."""
        if not self._warm and arguments.warm_up:
            records = int(arguments.warm_up)
        self._warm = True
        return seconds_of(self._builds[arguments.workload], arguments, records)


def main(builds: Mapping[str, Build], **settings: str) -> None:
    """The command line of a module with these workloads; ``settings`` are its own."""
    measure("pyflink", Runs(builds), {**SETTINGS, **settings}, tuple(builds))
