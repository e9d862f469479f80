"""The workloads on Pathway, as two processes of one worker each; run with Pathway's own interpreter.

Indexes come from a Python connector, which Pathway runs in the first process only; the user's functions
are applied to each row. The running sum is a stateful reducer in Python, and gives one update for each
key and commit, not one for each record: Pathway has no step that would, so it does less than the others.
``commit`` is the time between two commits in milliseconds.

Pathway reports nothing to anybody without a licence key or a monitoring server, and here it gets neither.
Time counts from the first index that is asked for until the last process has come to its end.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pathway as pw

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.workloads import (
    KEYED,
    STATELESS,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    transaction,
    with_fee,
)

SETTINGS = {"commit": "1000"}
_NOT_PASSED_ON = ("PATHWAY_LICENSE_KEY", "PATHWAY_MONITORING_SERVER")


def _stamp(moment: str) -> None:
    # The monotonic clock is one for all processes of a machine.
    Path(os.environ["BENCH_STAMPS"], f"{moment}-{os.getpid()}").write_text(str(time.monotonic()))


class _Index(pw.Schema):
    index: int


class _Indexes(pw.io.python.ConnectorSubject):
    def __init__(self, records: int) -> None:
        super().__init__()
        self._records = records

    def run(self) -> None:
        _stamp("first")
        for index in range(self._records):
            self.next(index=index)


@pw.reducers.stateful_single  # type: ignore[untyped-decorator]
def _sum(total: Transaction | None, record: Transaction) -> Transaction:
    return record if total is None else add_amounts(total, record)


def dataflow() -> None:
    """Build and run what the environment of this process describes."""
    subject = _Indexes(int(os.environ["BENCH_RECORDS"]))
    commit = int(os.environ["BENCH_COMMIT"])
    indexes = pw.io.python.read(subject, schema=_Index, autocommit_duration_ms=commit)
    pair = tuple[int, int]
    made = indexes.select(record=pw.apply_with_type(transaction, pair, pw.this.index))
    if os.environ["BENCH_WORKLOAD"] == KEYED:
        keyed = made.select(
            customer=pw.apply_with_type(customer_of, int, pw.this.record), record=pw.this.record
        )
        result = keyed.groupby(pw.this.customer).reduce(
            pw.this.customer, total=_sum(pw.this.record)
        )
    else:
        charged = made.select(record=pw.apply_with_type(with_fee, pair, pw.this.record))
        result = charged.filter(pw.apply_with_type(is_large, bool, pw.this.record))
    pw.io.null.write(result)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    _stamp("last")


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the first index asked for to the end of the last process."""
    with tempfile.TemporaryDirectory() as stamps:
        _run_processes(arguments, records, stamps)
        [first] = [float(path.read_text()) for path in Path(stamps).glob("first-*")]
        last = [float(path.read_text()) for path in Path(stamps).glob("last-*")]
    return max(last) - first


def _run_processes(arguments: argparse.Namespace, records: int, stamps: str) -> None:
    environment = {name: os.environ[name] for name in os.environ if name not in _NOT_PASSED_ON} | {
        "BENCH_RECORDS": str(records),
        "BENCH_COMMIT": arguments.commit,
        "BENCH_STAMPS": stamps,
        "BENCH_WORKLOAD": arguments.workload,
        "PATHWAY_PROCESSES": str(PARALLELISM),
        "PATHWAY_THREADS": "1",
        "PATHWAY_FIRST_PORT": str(_first_port()),
    }
    command = [sys.executable, "-m", "benchmarks.peers.pathway_peer"]
    processes = [
        subprocess.Popen(command, env=environment | {"PATHWAY_PROCESS_ID": str(process)})
        for process in range(PARALLELISM)
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"pathway processes ended with {codes}, expected 0")


def _first_port() -> int:
    """A port that is free, as is most likely the one after it."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


if __name__ == "__main__":
    if "PATHWAY_PROCESS_ID" in os.environ:
        dataflow()
    else:
        measure("pathway", run, SETTINGS, (STATELESS, KEYED))
