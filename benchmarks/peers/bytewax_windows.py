"""The workloads of event time on Bytewax; run with its own interpreter.

``fold_window`` with an event clock, in tumbling, sliding and session windows. Keys must be strings and times datetimes
there. Records of a window need not be in order to be summed, so ``ordered`` is off, which is faster; no
window waits for the wall clock, as these records are of the past.

A key's clock there goes by the records that it has seen of all sources, however far one source is ahead of another,
so ``wait`` has to allow for that too: milliseconds that the clock trails the latest time.

``join`` is Bytewax's ``join`` by key, which ends when both sides are there: there is none over an interval of
time, so a step behind it looks at the times. What has no partner would stay forever; here everything has one.
"""

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow, Stream
from bytewax.operators import KeyedStream

from benchmarks import orders, payments, visits
from benchmarks.measurement import measure
from benchmarks.peers.bytewax_cluster import (
    CLUSTER_SETTINGS,
    DiscardingSink,
    Generated,
    seconds_of,
    setting,
)
from benchmarks.workloads import JOIN, SESSIONS, SLIDING, WINDOWS

FLOW = "benchmarks.peers.bytewax_windows:dataflow()"
SETTINGS = CLUSTER_SETTINGS | {"wait": "60000"}
WORKLOADS = (WINDOWS, SLIDING, SESSIONS, JOIN)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SPEND = payments.Spend()
_CLICKS = visits.Clicks()


def _customer(record: payments.Payment) -> str:
    return str(payments.customer_of(record))


def _visitor(record: visits.Click) -> str:
    return str(visits.visitor_of(record))


def _number(record: orders.Order | orders.Shipment) -> str:
    return str(orders.number_of(record))


def _when(record: tuple[int, int, int]) -> datetime:
    return _EPOCH + timedelta(milliseconds=payments.time_of(record))


def _never(when: datetime) -> None:
    """No wake-up by the wall clock."""
    del when


def _spend(accumulator: int, value: payments.Payment) -> int:
    return _SPEND.add(value, accumulator)


def _count(accumulator: int, value: visits.Click) -> int:
    return _CLICKS.add(value, accumulator)


def _windower(workload: str) -> win.Windower[Any]:
    if workload == SESSIONS:
        return win.SessionWindower(gap=visits.GAP_MS * _MILLISECOND)
    hop = payments.WINDOW_MS * _MILLISECOND
    if workload == SLIDING:
        length = payments.SLIDING_MS * _MILLISECOND
        return win.SlidingWindower(length=length, offset=hop, align_to=_EPOCH)
    return win.TumblingWindower(length=hop, align_to=_EPOCH)


def _windows(flow: Dataflow, workload: str) -> Stream[Any]:
    if workload == SESSIONS:
        stream = op.input("clicks", flow, Generated(visits.click, visits.share))
        keyed: KeyedStream[Any] = op.key_on("visitor", stream, _visitor)
        function: Any = _CLICKS
        fold: Any = _count
    else:
        stream = op.input("payments", flow, Generated(payments.payment, payments.share))
        keyed = op.key_on("customer", stream, _customer)
        function, fold = _SPEND, _spend
    windows = win.fold_window(
        workload,
        keyed,
        win.EventClock(_when, int(setting("wait")) * _MILLISECOND, to_system_utc=_never),
        _windower(workload),
        function.create_accumulator,
        fold,
        function.merge,
        ordered=False,
    )
    op.output("late", windows.late, DiscardingSink())
    return windows.down


def _sent(key_pair: tuple[str, tuple[orders.Order, orders.Shipment]]) -> Any:
    order, shipment = key_pair[1]
    waited = orders.time_of(shipment) - orders.time_of(order)
    return orders.sent(order, shipment) if 0 <= waited <= orders.WITHIN_MS else None


def _join(flow: Dataflow) -> Stream[Any]:
    bought = op.input("orders", flow, Generated(orders.order, orders.share))
    shipped = op.input("shipments", flow, Generated(orders.shipment, orders.share))
    pairs = op.join(
        "pairs",
        op.key_on("order", bought, _number),
        op.key_on("shipment", shipped, _number),
        emit_mode="complete",
    )
    return op.filter_map("sent", pairs, _sent)


def dataflow() -> Dataflow:
    """The dataflow that the environment of this process describes."""
    workload = setting("workload")
    flow = Dataflow(workload)
    result = _join(flow) if workload == JOIN else _windows(flow, workload)
    op.output("results", result, DiscardingSink())
    return flow


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the first batch asked for to the last sink closed."""
    return seconds_of(FLOW, arguments, records)


if __name__ == "__main__":
    measure("bytewax", run, SETTINGS, WORKLOADS)
