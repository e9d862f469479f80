# ruff: noqa: ARG002  # the arguments are those of Bytewax's interfaces
"""The workloads on Bytewax, as a cluster of two processes; run with Bytewax's own interpreter.

A running sum per customer that hands on each update is one ``stateful_batch`` step (``logic=batch``)
or one ``stateful_map`` step (``logic=map``); the ``state`` workload is always the latter. Keys must be
strings there, so the key step converts.

The two processes retry their connection in steps of a second, which would drown what is measured,
so time counts from the first batch that a source is asked for until the last sink closes.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.workloads import (
    KEYED,
    STATE,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    share,
    transaction,
    with_fee,
)

SETTINGS = {"batch": "5000", "logic": "batch", "snapshot_interval": "3600"}


def stamp(moment: str) -> None:
    """Note the time at which something happened first or last in this process."""
    # The monotonic clock is one for all processes of a machine.
    stamp = Path(os.environ["BENCH_STAMPS"], f"{moment}-{os.getpid()}")
    stamp.write_text(str(time.monotonic()))


class _Transactions(StatelessSourcePartition[Transaction]):
    def __init__(self, indexes: range, batch: int) -> None:
        self._indexes = indexes
        self._batch = batch
        self._asked = False

    def next_batch(self) -> list[Transaction]:
        if not self._asked:
            self._asked = True
            stamp("first")
        if not self._indexes:
            raise StopIteration
        now, self._indexes = self._indexes[: self._batch], self._indexes[self._batch :]
        return [transaction(index) for index in now]


class _TransactionSource(DynamicSource[Transaction]):
    def __init__(self, records: int, batch: int) -> None:
        self._records = records
        self._batch = batch

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Transactions:
        return _Transactions(share(self._records, worker_index, worker_count), self._batch)


class _Discard(StatelessSinkPartition[Any]):
    def write_batch(self, items: list[Any]) -> None:
        pass

    def close(self) -> None:
        stamp("last")


class DiscardingSink(DynamicSink[Any]):
    """Takes everything and keeps nothing; notes when it is closed."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Discard:
        return _Discard()


class _RunningSum(StatefulBatchLogic[Transaction, Transaction, Transaction]):
    def __init__(self, total: Transaction | None) -> None:
        self._total = total

    def on_batch(self, values: list[Transaction]) -> tuple[list[Transaction], bool]:
        updates = []
        total = self._total
        for value in values:
            total = value if total is None else add_amounts(total, value)
            updates.append(total)
        self._total = total
        return updates, StatefulBatchLogic.RETAIN

    def snapshot(self) -> Transaction | None:
        return self._total


def _add(total: Transaction | None, value: Transaction) -> tuple[Transaction, Transaction]:
    total = value if total is None else add_amounts(total, value)
    return total, total


def _process(total: int | None, value: Transaction) -> tuple[int, int]:
    total = value[1] if total is None else total + value[1]
    return total, total


def _key(record: Transaction) -> str:
    return str(customer_of(record))


def dataflow() -> Dataflow:
    """The dataflow that the environment of this process describes."""
    records, batch = int(os.environ["BENCH_RECORDS"]), int(os.environ["BENCH_BATCH"])
    flow = Dataflow("benchmark")
    stream = op.input("transactions", flow, _TransactionSource(records, batch))
    workload = os.environ["BENCH_WORKLOAD"]
    if workload in (KEYED, STATE):
        keyed = op.key_on("customer", stream, _key)
        if workload == STATE:
            result: Any = op.stateful_map("sum", keyed, _process)
        elif os.environ["BENCH_LOGIC"] == "map":
            result = op.stateful_map("sum", keyed, _add)
        else:
            result = op.stateful_batch("sum", keyed, _RunningSum)
    else:
        result = op.filter("large", op.map("fee", stream, with_fee), is_large)
    op.output("discard", result, DiscardingSink())
    return flow


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the first batch asked for in either process to the last sink closed."""
    return seconds_of("benchmarks.peers.bytewax_peer:dataflow()", arguments, records)


def seconds_of(flow: str, arguments: argparse.Namespace, records: int) -> float:
    """The same for any dataflow whose source and sink note their times."""
    with tempfile.TemporaryDirectory() as stamps:
        _run_cluster(flow, arguments, records, stamps)
        first = [float(path.read_text()) for path in Path(stamps).glob("first-*")]
        last = [float(path.read_text()) for path in Path(stamps).glob("last-*")]
    return max(last) - min(first)


def _run_cluster(flow: str, arguments: argparse.Namespace, records: int, stamps: str) -> None:
    addresses = ";".join(f"127.0.0.1:{port}" for port in _free_ports(PARALLELISM))
    environment = os.environ | {
        "BENCH_RECORDS": str(records),
        "BENCH_BATCH": arguments.batch,
        "BENCH_LOGIC": getattr(arguments, "logic", ""),
        "BENCH_STAMPS": stamps,
        "BENCH_WORKLOAD": arguments.workload,
    }
    command = [sys.executable, "-m", "bytewax.run", flow]
    command += ["-s", arguments.snapshot_interval, "-a", addresses, "-i"]
    processes = [
        subprocess.Popen([*command, str(process)], env=environment)
        for process in range(PARALLELISM)
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"bytewax processes ended with {codes}, expected 0")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


if __name__ == "__main__":
    measure("bytewax", run, SETTINGS)
