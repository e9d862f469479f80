# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The workloads on PyFlink; run with PyFlink's own interpreter.

Numbers come from Flink's own Java source, and a Python map makes each transaction. That source
hands out its two splits on request, so the first reader to be up at times takes both and one
worker idles; ``source=rebalance`` deals the numbers out evenly instead (``source=split`` does not).
The sink is Flink's own Java one that discards. Left alone, a local PyFlink job runs its Python functions in
the client's process, where two subtasks share one interpreter lock; here it gets real workers
(``mode=process``). With ``mode=thread`` the functions run inside the JVM instead, in an interpreter that
PemJa embeds: nothing is sent to and fro, but the two subtasks share one interpreter lock.

The start of a job takes anything from five to ten seconds, which would drown what is measured, so
time counts from the moment all Python functions are open until the last of them is closed.
"""

import argparse
import os
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

# Read by PyFlink when a job starts: Python workers of their own instead of the client's process.
os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112  # PyFlink's own spelling

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors import Sink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.java_gateway import get_gateway

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.workloads import (
    KEYED,
    STATE,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    transaction,
    with_fee,
)

SETTINGS = {
    "bundle_size": "10000",
    "bundle_time": "1000",
    "state_cache": "20000",
    "object_reuse": "true",
    "types": "tuple",
    "buffer_timeout": "100",
    "source": "rebalance",
    "mode": "process",
}


def stamp(stamps: str, moment: str) -> None:
    """Note the time at which a function opened or closed."""
    # The monotonic clock is one for all processes of a machine.
    Path(stamps, f"{moment}-{uuid.uuid4()}").write_text(str(time.monotonic()))


class _Make(MapFunction):
    """The generator, with the times at which it opens and closes."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def open(self, runtime_context: RuntimeContext) -> None:
        stamp(self._stamps, "open")

    def map(self, value: int) -> Transaction:
        return transaction(value)

    def close(self) -> None:
        stamp(self._stamps, "close")


class _Sum(ReduceFunction):
    """The running sum, with the times at which it opens and closes."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def open(self, runtime_context: RuntimeContext) -> None:
        stamp(self._stamps, "open")

    def reduce(self, value1: Transaction, value2: Transaction) -> Transaction:
        return add_amounts(value1, value2)

    def close(self) -> None:
        stamp(self._stamps, "close")


class _Totals(KeyedProcessFunction):
    """The running sum in a value state, with the times at which the function opens and closes."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        stamp(self._stamps, "open")

    def process_element(
        self, value: Transaction, ctx: KeyedProcessFunction.Context
    ) -> Iterator[Transaction]:
        total = self._total.value()
        total = value[1] if total is None else total + value[1]
        self._total.update(total)
        yield value[0], total

    def close(self) -> None:
        stamp(self._stamps, "close")


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
    environment.set_parallelism(PARALLELISM)
    environment.set_buffer_timeout(int(arguments.buffer_timeout))
    return environment


def _share_packages() -> None:
    # The embedded interpreter is the one that this environment was made with: it does not look here by itself.
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    packages = sysconfig.get_path("purelib")
    if packages not in found:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*found, packages]))


def _result(arguments: argparse.Namespace, numbers: DataStream, stamps: str) -> DataStream:
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    record_type = pair if arguments.types == "tuple" else Types.PICKLED_BYTE_ARRAY()
    transactions = numbers.map(_Make(stamps), output_type=record_type)
    if arguments.workload == KEYED:
        return transactions.key_by(customer_of, key_type=Types.LONG()).reduce(_Sum(stamps))
    if arguments.workload == STATE:
        keyed = transactions.key_by(customer_of, key_type=Types.LONG())
        return keyed.process(_Totals(stamps), output_type=record_type)
    return transactions.map(with_fee, output_type=record_type).filter(is_large)


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the last Python function opened to the last one closed."""
    return seconds_of(_execute, arguments, records)


def seconds_of(
    execute: Callable[[argparse.Namespace, int, str], None],
    arguments: argparse.Namespace,
    records: int,
) -> float:
    """The same for any job whose functions note their times in the folder that it is given."""
    with tempfile.TemporaryDirectory() as stamps:
        started = time.perf_counter()
        execute(arguments, records, stamps)
        whole = time.perf_counter() - started
        opened = [float(path.read_text()) for path in Path(stamps).glob("open-*")]
        closed = [float(path.read_text()) for path in Path(stamps).glob("close-*")]
    print(f"{records} records: whole job {whole:.1f} s, {len(opened)} opened, {len(closed)} closed")
    return max(closed) - max(opened)


def _execute(arguments: argparse.Namespace, records: int, stamps: str) -> None:
    environment = environment_of(arguments)
    discard(_result(arguments, numbers_of(environment, arguments, records), stamps))
    environment.execute("benchmark")


def numbers_of(
    environment: StreamExecutionEnvironment, arguments: argparse.Namespace, records: int
) -> DataStream:
    """The indexes of the records, from Flink's own source."""
    numbers = environment.from_source(
        NumberSequenceSource(0, records - 1),
        WatermarkStrategy.no_watermarks(),
        "numbers",
        Types.LONG(),
    )
    if arguments.source == "rebalance":
        numbers = numbers.set_parallelism(1).rebalance()
    return numbers


def discard(stream: DataStream) -> None:
    """End the job with Flink's own sink that discards."""
    java_sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
    stream.sink_to(Sink(java_sink()))


if __name__ == "__main__":
    measure("pyflink", run, SETTINGS)
