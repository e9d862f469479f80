# ruff: noqa: SLF001  # the columns of a window are named so by Pathway
"""The workloads of event time on Pathway; run with its own interpreter.

* ``windows`` and ``sliding``: ``windowby`` with a stateful reducer in Python; each window gives its result once, when
  the latest time has passed its end by ``wait`` milliseconds, and is forgotten then. Processes read their files
  independently, so ``wait`` has to allow for how far one is ahead of another.
* ``columns``: the same with Pathway's own reducers, on columns that its own expressions make: no record is ever in
  Python.
* ``sessions``: session windows have no such behaviour in Pathway: they are never forgotten, and each commit gives a new
  result for each session that it changes.
* ``join``: ``interval_join``, which forgets what is ``wait`` milliseconds older than the latest time.
"""

from typing import Any

import pathway as pw

from benchmarks import orders, payments, visits
from benchmarks.peers.pathway_processes import PROCESS_SETTINGS, indexes, main, setting
from benchmarks.workloads import COLUMNS, JOIN, SESSIONS, SLIDING, WINDOWS

MODULE = "benchmarks.peers.pathway_windows"
SETTINGS = PROCESS_SETTINGS | {"wait": "60000"}
WORKLOADS = (WINDOWS, SLIDING, SESSIONS, JOIN, COLUMNS)

_TRIPLE = tuple[int, int, int]
_SPEND = payments.Spend()
_CLICKS = visits.Clicks()


@pw.reducers.stateful_many  # type: ignore[untyped-decorator]
def _spend(state: int | None, rows: list[tuple[list[Any], int]]) -> int | None:
    total = _SPEND.create_accumulator() if state is None else state
    for [record], count in rows:
        if count < 0:
            # The window is forgotten, all of its rows at once.
            return None
        total = _SPEND.add(record, total)
    return total


@pw.reducers.stateful_many  # type: ignore[untyped-decorator]
def _clicks(state: int | None, rows: list[tuple[list[Any], int]]) -> int | None:
    total = _CLICKS.create_accumulator() if state is None else state
    for [record], count in rows:
        # A record that goes to another session leaves the one that it was in.
        total = _CLICKS.add(record, total) if count > 0 else total - 1
    return total or None


def _once() -> Any:
    return pw.temporal.exactly_once_behavior(shift=int(setting("wait")))


def _windows(workload: str) -> pw.Table:
    made = indexes().select(record=pw.apply_with_type(payments.payment, _TRIPLE, pw.this.index))
    timed = made.select(
        record=pw.this.record,
        customer=pw.apply_with_type(payments.customer_of, int, pw.this.record),
        time=pw.apply_with_type(payments.time_of, int, pw.this.record),
    )
    if workload == SLIDING:
        window = pw.temporal.sliding(hop=payments.WINDOW_MS, duration=payments.SLIDING_MS)
    else:
        window = pw.temporal.tumbling(payments.WINDOW_MS)
    windows = timed.windowby(
        pw.this.time, window=window, behavior=_once(), instance=pw.this.customer
    )
    return windows.reduce(
        pw.this._pw_instance, pw.this._pw_window_start, spend=_spend(pw.this.record)
    )


def _columns() -> pw.Table:
    mixed = indexes().select(
        index=pw.this.index, mixed=(pw.this.index * 2_654_435_761) & 0xFFFFFFFF
    )
    made = mixed.select(
        customer=pw.this.mixed % 1_000,
        amount=(pw.this.mixed >> 16) % 50_000,
        time=payments.START_MS + pw.this.index // 10 + ((pw.this.mixed >> 8) & 127),
    )
    window = pw.temporal.tumbling(payments.WINDOW_MS)
    windows = made.windowby(
        pw.this.time, window=window, behavior=_once(), instance=pw.this.customer
    )
    return windows.reduce(
        pw.this._pw_instance,
        pw.this._pw_window_start,
        spend=pw.reducers.sum(pw.this.amount),
        payments=pw.reducers.count(),
        least=pw.reducers.min(pw.this.amount),
        most=pw.reducers.max(pw.this.amount),
    )


def _sessions() -> pw.Table:
    made = indexes().select(record=pw.apply_with_type(visits.click, _TRIPLE, pw.this.index))
    timed = made.select(
        record=pw.this.record,
        visitor=pw.apply_with_type(visits.visitor_of, int, pw.this.record),
        time=pw.apply_with_type(visits.time_of, int, pw.this.record),
    )
    window = pw.temporal.session(max_gap=visits.GAP_MS)
    sessions = timed.windowby(pw.this.time, window=window, instance=pw.this.visitor)
    return sessions.reduce(
        pw.this._pw_instance, pw.this._pw_window_start, clicks=_clicks(pw.this.record)
    )


def _side(numbers: pw.Table, make: Any) -> pw.Table:
    made = numbers.select(record=pw.apply_with_type(make, _TRIPLE, pw.this.index))
    return made.select(
        record=pw.this.record,
        number=pw.apply_with_type(orders.number_of, int, pw.this.record),
        time=pw.apply_with_type(orders.time_of, int, pw.this.record),
    )


def _join() -> pw.Table:
    numbers = indexes()
    bought, shipped = _side(numbers, orders.order), _side(numbers, orders.shipment)
    pairs = pw.temporal.interval_join(
        bought,
        shipped,
        bought.time,
        shipped.time,
        pw.temporal.interval(0, orders.WITHIN_MS),
        bought.number == shipped.number,
        behavior=pw.temporal.common_behavior(cutoff=int(setting("wait"))),
    )
    return pairs.select(
        sent=pw.apply_with_type(orders.sent, _TRIPLE, bought.record, shipped.record)
    )


def build(workload: str) -> pw.Table:
    """The result of a workload."""
    if workload == COLUMNS:
        return _columns()
    if workload == SESSIONS:
        return _sessions()
    if workload == JOIN:
        return _join()
    return _windows(workload)


if __name__ == "__main__":
    main(MODULE, build, SETTINGS, WORKLOADS)
