"""The workloads without event time on Bytewax; run with its own interpreter.

* A running sum per customer that hands on each update is one ``stateful_batch`` step (``logic=batch``)
  or one ``stateful_map`` step (``logic=map``); ``state``, ``skewed`` and ``subtasks-*`` are always the latter.
* ``large``: Bytewax exchanges records by key before stateful steps only, so one that keeps nothing measures
  the payloads.
* ``chain``: a hundred ``map`` steps.

Keys must be strings there, so the key step converts.
"""

import argparse
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.operators import StatefulBatchLogic

from benchmarks import blobs, steps
from benchmarks.measurement import measure
from benchmarks.peers.bytewax_cluster import (
    CLUSTER_SETTINGS,
    DiscardingSink,
    Generated,
    seconds_of,
    setting,
)
from benchmarks.workloads import (
    CHAIN,
    KEYED,
    LARGE_RECORDS,
    SKEWED,
    STATE,
    STATELESS,
    SUBTASKS,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    share,
    skewed_transaction,
    transaction,
    with_fee,
)

FLOW = "benchmarks.peers.bytewax_peer:dataflow()"
SETTINGS = CLUSTER_SETTINGS | {"logic": "batch"}
WORKLOADS = (STATELESS, KEYED, STATE, SKEWED, LARGE_RECORDS, CHAIN, *SUBTASKS)


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


class _Sizes(StatefulBatchLogic[blobs.Blob, int, None]):
    def on_batch(self, values: list[blobs.Blob]) -> tuple[list[int], bool]:
        return [blobs.size_of(value) for value in values], StatefulBatchLogic.RETAIN

    def snapshot(self) -> None:
        return None


def _add(total: Transaction | None, value: Transaction) -> tuple[Transaction, Transaction]:
    total = value if total is None else add_amounts(total, value)
    return total, total


def _process(total: int | None, value: Transaction) -> tuple[int, int]:
    total = value[1] if total is None else total + value[1]
    return total, total


def _customer(record: Transaction) -> str:
    return str(customer_of(record))


def _number(record: blobs.Blob) -> str:
    return str(blobs.number_of(record))


def _stateless(flow: Dataflow) -> Stream[Any]:
    stream = op.input("transactions", flow, Generated(transaction, share))
    return op.filter("large", op.map("fee", stream, with_fee), is_large)


def _sums(flow: Dataflow, workload: str) -> Stream[Any]:
    make = skewed_transaction if workload == SKEWED else transaction
    stream = op.input("transactions", flow, Generated(make, share))
    keyed = op.key_on("customer", stream, _customer)
    if workload != KEYED:
        return op.stateful_map("sum", keyed, _process)
    if setting("logic") == "map":
        return op.stateful_map("sum", keyed, _add)
    return op.stateful_batch("sum", keyed, _RunningSum)


def _large_records(flow: Dataflow) -> Stream[Any]:
    stream = op.input("blobs", flow, Generated(blobs.blob, share))
    keyed = op.key_on("number", stream, _number)
    return op.stateful_batch("size", keyed, lambda _: _Sizes())


def _chain(flow: Dataflow) -> Stream[Any]:
    stream: Stream[Any] = op.input("numbers", flow, Generated(steps.number, share))
    for place, function in enumerate(steps.FUNCTIONS):
        stream = op.map(f"step-{place}", stream, function)
    return stream


def dataflow() -> Dataflow:
    """The dataflow that the environment of this process describes."""
    workload = setting("workload")
    flow = Dataflow(workload)
    if workload == STATELESS:
        result = _stateless(flow)
    elif workload == LARGE_RECORDS:
        result = _large_records(flow)
    elif workload == CHAIN:
        result = _chain(flow)
    else:
        result = _sums(flow, workload)
    op.output("results", result, DiscardingSink())
    return flow


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the first batch asked for to the last sink closed."""
    return seconds_of(FLOW, arguments, records)


if __name__ == "__main__":
    measure("bytewax", run, SETTINGS, WORKLOADS)
