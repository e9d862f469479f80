"""The timed pipeline on Pathway, two processes; run with Pathway's own interpreter.

Records come from a Python connector, which Pathway runs in the first process only. Its reducer gives one
update for each key and commit, that of the latest record; ``commit`` is the time between two
commits in milliseconds.
"""

import argparse
import os
import socket
import subprocess
import sys
import time
from typing import Any

import pathway as pw

from benchmarks.latencies.timed import Pace, Samples, Timed, add_timed, customer_of, measured

SETTINGS = {"commit": "5"}
_PROCESSES = 2
_NOT_PASSED_ON = ("PATHWAY_LICENSE_KEY", "PATHWAY_MONITORING_SERVER")


class _Record(pw.Schema):
    customer: int
    amount: int
    due: int


class _Paced(pw.io.python.ConnectorSubject):
    def run(self) -> None:
        rate, records = int(os.environ["BENCH_RATE"]), int(os.environ["BENCH_RECORDS"])
        pace = Pace(rate, first=0, step=1, count=records)
        while not pace.over:
            for customer, amount, due in pace.due():
                self.next(customer=customer, amount=amount, due=due)
            time.sleep(0.001)


class _Arrivals(pw.io.python.ConnectorObserver):
    def __init__(self) -> None:
        self._samples = Samples(os.environ["BENCH_FOLDER"])

    def on_change(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: FBT001
        del key, time
        if is_addition:
            self._samples.take(row["total"][2])

    def on_end(self) -> None:
        self._samples.save()


@pw.reducers.stateful_single  # type: ignore[untyped-decorator]
def _sum(total: Timed | None, record: Timed) -> Timed:
    return record if total is None else add_timed(total, record)


def dataflow() -> None:
    """Build and run what the environment of this process describes."""
    commit = int(os.environ["BENCH_COMMIT"])
    made = pw.io.python.read(_Paced(), schema=_Record, autocommit_duration_ms=commit)
    records = made.select(record=pw.make_tuple(pw.this.customer, pw.this.amount, pw.this.due))
    keyed = records.select(
        customer=pw.apply_with_type(customer_of, int, pw.this.record), record=pw.this.record
    )
    totals = keyed.groupby(pw.this.customer).reduce(pw.this.customer, total=_sum(pw.this.record))
    pw.io.python.write(totals, _Arrivals())
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def run(arguments: argparse.Namespace, records: int) -> None:
    """Run both processes to their end."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = {name: os.environ[name] for name in os.environ if name not in _NOT_PASSED_ON} | {
        "BENCH_RATE": str(arguments.rate),
        "BENCH_RECORDS": str(records),
        "BENCH_FOLDER": arguments.folder,
        "BENCH_COMMIT": arguments.commit,
        "PATHWAY_PROCESSES": str(_PROCESSES),
        "PATHWAY_THREADS": "1",
        "PATHWAY_FIRST_PORT": str(port),
    }
    command = [sys.executable, "-m", "benchmarks.peers.latency_pathway"]
    processes = [
        subprocess.Popen(command, env=environment | {"PATHWAY_PROCESS_ID": str(process)})
        for process in range(_PROCESSES)
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"pathway processes ended with {codes}, expected 0")


if __name__ == "__main__":
    if "PATHWAY_PROCESS_ID" in os.environ:
        dataflow()
    else:
        measured(run, SETTINGS)
