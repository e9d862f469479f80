# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The workloads of single records on PyFlink: everything without event time; see ``pyflink_job``.

Python functions that follow each other without an exchange are one Python operator in PyFlink, so the hundred
of ``chain`` cross to Python and back once.
"""

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedProcessFunction, MapFunction, ReduceFunction
from pyflink.datastream.functions import RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from benchmarks import blobs, steps
from benchmarks.peers.pyflink_job import PICKLED, Job, Stamped, main
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
    skewed_transaction,
    transaction,
    with_fee,
)


class _Sum(Stamped, ReduceFunction):
    def reduce(self, value1: Transaction, value2: Transaction) -> Transaction:
        return add_amounts(value1, value2)


class _Totals(Stamped, KeyedProcessFunction):
    """The running sum in a value state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(
        self, value: Transaction, ctx: KeyedProcessFunction.Context
    ) -> Iterator[Transaction]:
        total = self._total.value()
        total = value[1] if total is None else total + value[1]
        self._total.update(total)
        yield value[0], total


class _Size(Stamped, MapFunction):
    def map(self, value: blobs.Blob) -> int:
        return blobs.size_of(value)


def _stateless(job: Job) -> DataStream:
    pair = job.type_of(Types.LONG(), Types.LONG())
    return job.made(transaction, pair).map(with_fee, pair).filter(is_large)


def _keyed(job: Job) -> DataStream:
    transactions = job.made(transaction, job.type_of(Types.LONG(), Types.LONG()))
    return transactions.key_by(customer_of, key_type=Types.LONG()).reduce(_Sum(job.stamps))


def _state(job: Job) -> DataStream:
    pair = job.type_of(Types.LONG(), Types.LONG())
    make = skewed_transaction if job.arguments.workload == SKEWED else transaction
    keyed = job.made(make, pair).key_by(customer_of, key_type=Types.LONG())
    return keyed.process(_Totals(job.stamps), pair)


def _large(job: Job) -> DataStream:
    payload = Types.PRIMITIVE_ARRAY(Types.BYTE())
    blob = job.type_of(Types.LONG(), payload)
    keyed = job.made(blobs.blob, blob).key_by(blobs.number_of, key_type=Types.LONG())
    return keyed.map(_Size(job.stamps), Types.LONG())


def _chain(job: Job) -> DataStream:
    number = Types.LONG() if job.arguments.types == "tuple" else PICKLED
    stream = job.made(steps.number, number)
    for function in steps.FUNCTIONS:
        stream = stream.map(function, number)
    return stream


BUILDS = {
    STATELESS: _stateless,
    KEYED: _keyed,
    STATE: _state,
    SKEWED: _state,
    LARGE_RECORDS: _large,
    CHAIN: _chain,
    **dict.fromkeys(SUBTASKS, _state),
}

if __name__ == "__main__":
    main(BUILDS)
