"""The limit: the user's own code in a bare loop, one process per core, no engine, no exchange.

The loops are in ``benchmarks.loops``. Each process has a share of the records and keeps what it finds to itself. More
subtasks than cores are as many processes as cores: more would only be slower.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from typing import Any

from benchmarks import orders, payments, visits, workloads
from benchmarks.loops import LOOPS
from benchmarks.measurement import measure, parallelism_of

_THROUGH_TIME = {
    workloads.WINDOWS: payments.share,
    workloads.SLIDING: payments.share,
    workloads.COLUMNS: payments.share,
    workloads.SESSIONS: visits.share,
    workloads.JOIN: orders.share,
}
"""Where the records have times, every process goes through all of the time."""


def _work(loop: Callable[[range], Any], indexes: range, ready: Barrier, done: Barrier) -> None:
    ready.wait()
    loop(indexes)
    done.wait()


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that the workload takes."""
    workload = arguments.workload
    share = _THROUGH_TIME.get(workload, workloads.share)
    processes = min(parallelism_of(workload), os.cpu_count() or 1)
    shares = [share(records, part, processes) for part in range(processes)]
    return seconds_of(LOOPS[workload], shares)


def seconds_of(loop: Callable[[range], Any], shares: Sequence[range]) -> float:
    """Seconds from the moment all processes stand ready until the last one is done."""
    ready = multiprocessing.Barrier(len(shares) + 1)
    done = multiprocessing.Barrier(len(shares) + 1)
    workers = [
        multiprocessing.Process(target=_work, args=(loop, indexes, ready, done))
        for indexes in shares
    ]
    for worker in workers:
        worker.start()
    ready.wait()
    started = time.perf_counter()
    done.wait()
    seconds = time.perf_counter() - started
    for worker in workers:
        worker.join()
    return seconds


if __name__ == "__main__":
    measure("baseline", run, {}, tuple(LOOPS))
