"""The records of the workloads, and the functions without state, over Arrow batches as ``mapInArrow`` takes them.

Each function calls the generator and the user's functions once a record.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from benchmarks.blobs import blob, number_of, size_of
from benchmarks.orders import order, sent, shipment
from benchmarks.payments import payment
from benchmarks.visits import click
from benchmarks.workloads import Transaction, is_large, skewed_transaction, transaction, with_fee

Batches = Iterable[pa.RecordBatch]
MapFunction = Callable[[Batches], Iterator[pa.RecordBatch]]

TRANSACTION: Final = ("customer", "amount")
PAYMENT: Final = ("customer", "amount", "time")
CLICK: Final = ("visitor", "page", "time")
ORDER: Final = ("number", "amount", "time")
SHIPMENT: Final = ("sent_number", "weight", "sent_time")
SENT: Final = ("number", "amount", "waited")
BLOB: Final = "key bigint, number bigint, payload binary"
SIZE: Final = ("size",)


def declared(names: Sequence[str]) -> str:
    """Columns of integers as Spark declares them.

    >>> declared(("customer", "amount"))
    'customer bigint, amount bigint'
    """
    return ", ".join(f"{name} bigint" for name in names)


def _integers(names: Sequence[str], records: Sequence[tuple[int, ...]]) -> pa.RecordBatch:
    columns: Iterable[Sequence[int]] = zip(*records, strict=True) if records else [()] * len(names)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, pa.int64()) for column in columns], names=list(names)
    )


def _made(make: Callable[[int], tuple[int, ...]], names: Sequence[str]) -> MapFunction:
    def function(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _integers(names, [make(index) for index in batch.column(0).to_pylist()])

    return function


transactions: Final = _made(transaction, TRANSACTION)
skewed_transactions: Final = _made(skewed_transaction, TRANSACTION)
payments: Final = _made(payment, PAYMENT)
clicks: Final = _made(click, CLICK)
orders: Final = _made(order, ORDER)
shipments: Final = _made(shipment, SHIPMENT)


def large_transactions(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``stateless``."""
    for batch in batches:
        charged = [with_fee(transaction(index)) for index in batch.column(0).to_pylist()]
        kept: list[Transaction] = [record for record in charged if is_large(record)]
        yield _integers(TRANSACTION, kept)


def sent_orders(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``join`` behind the join: the two halves of a row are an order and its shipment."""
    for batch in batches:
        columns: list[list[Any]] = [column.to_pylist() for column in batch.columns]
        pairs = zip(zip(*columns[:3], strict=True), zip(*columns[3:], strict=True), strict=True)
        yield _integers(SENT, [sent(left, right) for left, right in pairs])


def blobs(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``large`` before the exchange: a record with its key, each in a batch of its own."""
    for batch in batches:
        for index in batch.column(0).to_pylist():
            record = blob(index)
            arrays = [
                pa.array([number_of(record)], pa.int64()),
                pa.array([record[0]], pa.int64()),
                pa.array([record[1]], pa.binary()),
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=["key", "number", "payload"])


def sizes(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``large`` behind the exchange."""
    for batch in batches:
        numbers, payloads = batch.column(1).to_pylist(), batch.column(2).to_pylist()
        records = zip(numbers, payloads, strict=True)
        yield _integers(SIZE, [(size_of(record),) for record in records])
