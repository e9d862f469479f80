# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The timed pipeline on PyFlink; run with PyFlink's own interpreter.

PyFlink has no source in Python, so records come over a socket, through Flink's own Java source, from a feeder in
this process. Small bundles make latency low and rates low: each is a round trip to the Python
worker. Thread mode has none.
"""

import argparse
from types import SimpleNamespace

from pyflink.common import Types
from pyflink.datastream import DataStream, MapFunction, ReduceFunction, RuntimeContext
from pyflink.datastream.connectors import Sink
from pyflink.java_gateway import get_gateway

from benchmarks.latencies.feeder import record_of, serve
from benchmarks.latencies.timed import Samples, Timed, add_timed, customer_of, measured
from benchmarks.peers.pyflink_job import environment_of

SETTINGS = {
    "bundle_size": "1000",
    "bundle_time": "5",
    "buffer_timeout": "1",
    "state_cache": "20000",
    "mode": "process",
}
_TIMED = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


class _Sum(ReduceFunction):
    """The running sum."""

    def reduce(self, value1: Timed, value2: Timed) -> Timed:
        return add_timed(value1, value2)


class _Arrivals(MapFunction):
    """Takes the latency of each record."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self._samples = Samples(self._folder)

    def map(self, value: Timed) -> Timed:
        self._samples.take(value[2])
        return value

    def close(self) -> None:
        self._samples.save()


def run(arguments: argparse.Namespace, records: int) -> None:
    """Run the job to the end."""
    given = SimpleNamespace(**vars(arguments), object_reuse="true", workload="keyed")
    environment = environment_of(given)
    port = serve(arguments.rate, records)
    java = environment._j_stream_execution_environment  # noqa: SLF001  (no other way to the socket)
    lines = DataStream(java.socketTextStream("127.0.0.1", port))
    made = lines.rebalance().map(record_of, output_type=_TIMED)
    totals = made.key_by(customer_of, key_type=Types.LONG()).reduce(_Sum())
    discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
    arrived = totals.map(_Arrivals(arguments.folder), output_type=_TIMED)
    arrived.sink_to(Sink(discarding()))
    environment.execute("latency")


if __name__ == "__main__":
    measured(run, SETTINGS)
