# ruff: noqa: ARG002  # the arguments are those of Bytewax's interfaces
"""The ``windows`` workload on Bytewax, as a cluster of two processes; run with its own interpreter.

``fold_window`` with an event clock; keys must be strings and times datetimes there. Records of a window
need not be in order to be summed, so ``ordered`` is off, which is faster.
"""

import argparse
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition

from benchmarks.measurement import measure
from benchmarks.payments import (
    BOUND_MS,
    WINDOW_MS,
    Payment,
    Spend,
    customer_of,
    payment,
    share,
    time_of,
)
from benchmarks.peers.bytewax_peer import DiscardingSink, seconds_of, stamp

SETTINGS = {"batch": "5000", "snapshot_interval": "3600"}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Payments(StatelessSourcePartition[Payment]):
    def __init__(self, indexes: range, batch: int) -> None:
        self._indexes = indexes
        self._batch = batch
        self._asked = False

    def next_batch(self) -> list[Payment]:
        if not self._asked:
            self._asked = True
            stamp("first")
        if not self._indexes:
            raise StopIteration
        now, self._indexes = self._indexes[: self._batch], self._indexes[self._batch :]
        return [payment(index) for index in now]


class _PaymentSource(DynamicSource[Payment]):
    def __init__(self, records: int, batch: int) -> None:
        self._records = records
        self._batch = batch

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Payments:
        return _Payments(share(self._records, worker_index, worker_count), self._batch)


_SPEND = Spend()


def _key(record: Payment) -> str:
    return str(customer_of(record))


def _when(record: Payment) -> datetime:
    return _EPOCH + timedelta(milliseconds=time_of(record))


def _fold(accumulator: int, value: Payment) -> int:
    return _SPEND.add(value, accumulator)


def dataflow() -> Dataflow:
    """The dataflow that the environment of this process describes."""
    records, batch = int(os.environ["BENCH_RECORDS"]), int(os.environ["BENCH_BATCH"])
    flow = Dataflow("windows")
    stream = op.input("payments", flow, _PaymentSource(records, batch))
    keyed = op.key_on("customer", stream, _key)
    clock = win.EventClock(_when, wait_for_system_duration=timedelta(milliseconds=BOUND_MS))
    windower = win.TumblingWindower(length=timedelta(milliseconds=WINDOW_MS), align_to=_EPOCH)
    sums: Any = win.fold_window(
        "spend",
        keyed,
        clock,
        windower,
        _SPEND.create_accumulator,
        _fold,
        _SPEND.merge,
        ordered=False,
    )
    op.output("discard", sums.down, DiscardingSink())
    return flow


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the first batch asked for in either process to the last sink closed."""
    return seconds_of("benchmarks.peers.bytewax_windows:dataflow()", arguments, records)


if __name__ == "__main__":
    measure("bytewax", run, SETTINGS)
