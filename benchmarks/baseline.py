"""The limit: the user's own code in a bare loop, one process per core, no engine, no exchange.

It makes the same records with the same generator and calls the same functions as every engine
does, once a record. Nothing is inlined: a function call per record is what the user's code is.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.synchronize import Barrier
from typing import Final

from benchmarks.measurement import PARALLELISM, measure
from benchmarks.workloads import (
    KEYED,
    STATE,
    STATELESS,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    share,
    transaction,
    with_fee,
)


def stateless(indexes: range) -> int:
    """Map and filter each record; the number of records kept."""
    kept = 0
    for index in indexes:
        record = with_fee(transaction(index))
        if is_large(record):
            kept += 1
    return kept


def keyed(indexes: range) -> int:
    """Keep a running sum per customer; the sum over all customers."""
    totals: dict[int, Transaction] = {}
    for index in indexes:
        record = transaction(index)
        key = customer_of(record)
        total = totals.get(key)
        totals[key] = record if total is None else add_amounts(total, record)
    return sum(amount for _, amount in totals.values())


class Totals:
    """The process function of the ``state`` workload with a dict for its state."""

    def __init__(self) -> None:
        self._totals: dict[int, int] = {}

    def process_element(self, value: Transaction) -> Iterator[Transaction]:
        """The customer's sum so far."""
        key = customer_of(value)
        total = self._totals.get(key)
        total = value[1] if total is None else total + value[1]
        self._totals[key] = total
        yield key, total


def state(indexes: range) -> int:
    """Call the process function for each record and take what it yields; how many updates."""
    process = Totals().process_element
    updates = 0
    for index in indexes:
        for _ in process(transaction(index)):
            updates += 1
    return updates


LOOPS: Final[Mapping[str, Callable[[range], int]]] = {
    STATELESS: stateless,
    KEYED: keyed,
    STATE: state,
}


def _work(loop: Callable[[range], int], indexes: range, ready: Barrier, done: Barrier) -> None:
    ready.wait()
    loop(indexes)
    done.wait()


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that the workload takes."""
    shares = [share(records, part, PARALLELISM) for part in range(PARALLELISM)]
    return seconds_of(LOOPS[arguments.workload], shares)


def seconds_of(loop: Callable[[range], int], shares: Sequence[range]) -> float:
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
    measure("baseline", run, {})
