# ruff: noqa: ARG002  # the arguments are those of Bytewax's interfaces
"""The timed pipeline on Bytewax, two processes; run with Bytewax's own interpreter.

Each process has a source that is asked every millisecond; the sum is a ``stateful_map``.
"""

import argparse
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from benchmarks.latencies.timed import Pace, Samples, Timed, add_timed, customer_of, measured

SETTINGS = {"snapshot_interval": "3600"}
_PROCESSES = 2


class _Paced(StatelessSourcePartition[Timed]):
    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def next_batch(self) -> list[Timed]:
        if self._pace.over:
            raise StopIteration
        return self._pace.due()

    def next_awake(self) -> datetime:
        return datetime.now(UTC) + timedelta(milliseconds=1)


class _PacedSource(DynamicSource[Timed]):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Paced:
        rate, records = int(os.environ["BENCH_RATE"]), int(os.environ["BENCH_RECORDS"])
        return _Paced(Pace(rate, first=worker_index, step=worker_count, count=records))


class _Arrivals(StatelessSinkPartition[Any]):
    def __init__(self) -> None:
        self._samples = Samples(os.environ["BENCH_FOLDER"])

    def write_batch(self, items: list[Any]) -> None:
        for _, total in items:
            self._samples.take(total[2])

    def close(self) -> None:
        self._samples.save()


class _ArrivalSink(DynamicSink[Any]):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Arrivals:
        return _Arrivals()


def _add(total: Timed | None, value: Timed) -> tuple[Timed, Timed]:
    total = value if total is None else add_timed(total, value)
    return total, total


def dataflow() -> Dataflow:
    """The dataflow that the environment of this process describes."""
    flow = Dataflow("latency")
    stream = op.input("timed", flow, _PacedSource())
    keyed = op.key_on("customer", stream, lambda record: str(customer_of(record)))
    op.output("arrivals", op.stateful_map("sum", keyed, _add), _ArrivalSink())
    return flow


def run(arguments: argparse.Namespace, records: int) -> None:
    """Run both processes to their end."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(_PROCESSES)]
    addresses = ";".join(f"127.0.0.1:{each.getsockname()[1]}" for each in sockets)
    for each in sockets:
        each.close()
    environment = os.environ | {
        "BENCH_RATE": str(arguments.rate),
        "BENCH_RECORDS": str(records),
        "BENCH_FOLDER": arguments.folder,
    }
    command = [sys.executable, "-m", "bytewax.run", "benchmarks.peers.latency_bytewax:dataflow()"]
    command += ["-s", arguments.snapshot_interval, "-a", addresses, "-i"]
    processes = [
        subprocess.Popen([*command, str(process)], env=environment) for process in range(_PROCESSES)
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"bytewax processes ended with {codes}, expected 0")


if __name__ == "__main__":
    measured(run, SETTINGS)
