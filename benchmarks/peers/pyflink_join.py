# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The ``join`` workload on PyFlink; see ``pyflink_job``.

PyFlink's DataStream API has no ``interval_join``, so this is what its users write: a ``KeyedCoProcessFunction`` that
keeps both sides of a key until a timer of event time says that nothing can meet them any more.
"""

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedCoProcessFunction
from pyflink.datastream.functions import RuntimeContext
from pyflink.datastream.state import ListState, ListStateDescriptor

from benchmarks.orders import (
    BOUND_MS,
    WITHIN_MS,
    Order,
    Shipment,
    number_of,
    order,
    sent,
    shipment,
    time_of,
)
from benchmarks.peers.pyflink_job import Job, Stamped, main, timed
from benchmarks.workloads import JOIN

Sent = tuple[int, int, int]


class _Within(Stamped, KeyedCoProcessFunction):
    """Pairs of an order and a shipment that leaves at most ``WITHIN_MS`` after it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        record = Types.PICKLED_BYTE_ARRAY()
        self._orders = runtime_context.get_list_state(ListStateDescriptor("orders", record))
        self._shipments = runtime_context.get_list_state(ListStateDescriptor("shipments", record))

    def process_element1(self, value: Order, ctx: KeyedCoProcessFunction.Context) -> Iterator[Sent]:
        self._orders.add(value)
        ctx.timer_service().register_event_time_timer(time_of(value) + WITHIN_MS)
        for other in self._shipments.get():
            if 0 <= time_of(other) - time_of(value) <= WITHIN_MS:
                yield sent(value, other)

    def process_element2(
        self, value: Shipment, ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[Sent]:
        self._shipments.add(value)
        ctx.timer_service().register_event_time_timer(time_of(value))
        for other in self._orders.get():
            if 0 <= time_of(value) - time_of(other) <= WITHIN_MS:
                yield sent(other, value)

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> tuple[Sent, ...]:
        _forget(self._orders, timestamp - WITHIN_MS)
        _forget(self._shipments, timestamp)
        return ()


def _forget(side: ListState, until: int) -> None:
    """Drop the records of this time and before."""
    records = list(side.get())
    kept = [record for record in records if time_of(record) > until]
    if not kept:
        side.clear()
    elif len(kept) < len(records):
        side.update(kept)


def _join(job: Job) -> DataStream:
    triple = job.type_of(Types.LONG(), Types.LONG(), Types.LONG())
    count = job.records // 2
    orders = timed(job.made(order, triple, count), time_of, BOUND_MS)
    shipments = timed(job.made(shipment, triple, count), time_of, BOUND_MS)
    both = orders.connect(shipments).key_by(number_of, number_of, key_type=Types.LONG())
    return both.process(_Within(job.stamps), triple)


BUILDS = {JOIN: _join}

if __name__ == "__main__":
    main(BUILDS)
