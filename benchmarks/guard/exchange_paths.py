"""Paths between two tasks: runs into frames, by key or not, and frames into runs."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.blobs import blob, number_of
from benchmarks.guard.exchange import Exchange
from benchmarks.guard.work import Work, runs_of, shares
from benchmarks.payment_columns import COLUMNS, payment_columns
from benchmarks.workloads import customer_of, transaction
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.column_views import batch_from
from riverrun.serde.columns import ColumnRun, layout_of
from riverrun.serde.infer import return_type_of

_CONSUMERS: Final = 4
_LARGE_SHARE: Final = 512
"""One record of a megabyte for so many that were asked for."""


class Sale(NamedTuple):
    """A transaction whose fields have names: runs of it travel as columns."""

    customer: int
    amount: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The same as a dataclass."""

    customer: int
    amount: int


def sale(index: int) -> Sale:
    """The transaction number ``index``."""
    return Sale(*transaction(index))


def receipt(index: int) -> Receipt:
    """The transaction number ``index``."""
    return Receipt(*transaction(index))


def encode_pickled(records: int) -> Work:
    """Runs of a stream without a type into frames."""
    return _encoding(Exchange(None), runs_of(transaction, records))


def encode_named_tuples(records: int) -> Work:
    """Runs of a stream with a type into frames."""
    return _encoding(Exchange(return_type_of(sale)), runs_of(sale, records))


def encode_dataclasses(records: int) -> Work:
    """The same of dataclasses."""
    return _encoding(Exchange(return_type_of(receipt)), runs_of(receipt, records))


def decode_pickled(records: int) -> Work:
    """Frames of a stream without a type into runs."""
    return _decoding(Exchange(None), runs_of(transaction, records))


def decode_named_tuples(records: int) -> Work:
    """Frames of a stream with a type into runs."""
    return _decoding(Exchange(return_type_of(sale)), runs_of(sale, records))


def decode_dataclasses(records: int) -> Work:
    """The same of dataclasses."""
    return _decoding(Exchange(return_type_of(receipt)), runs_of(receipt, records))


def route_by_key(records: int) -> Work:
    """Key selector, hash of the key, and the run shared out; with the frames that come of it."""
    exchange = Exchange(None, key=customer_of, consumers=_CONSUMERS)
    return _encoding(exchange, runs_of(transaction, records), again=True)


def route_named_tuples(records: int) -> Work:
    """The same of records that travel as columns."""
    exchange = Exchange(return_type_of(sale), key=customer_of, consumers=_CONSUMERS)
    return _encoding(exchange, runs_of(sale, records), again=True)


def arrow_batches(records: int) -> Work:
    """Runs of columns into frames and back; a record of this path is a run."""
    type_info = type_of_schema(pa.schema([(name, pa.int64()) for name in COLUMNS]))
    layout = layout_of(type_info)
    assert layout is not None  # columns of integers have one
    runs: list[Any] = []
    for indexes in shares(records):
        columns = payment_columns(np.arange(indexes.start, indexes.stop))
        runs.append(ColumnRun(layout, batch_from(layout, columns)))
    exchange = Exchange(type_info, columns=True)

    def work() -> int:
        if exchange.receive(exchange.send(runs)) != records:
            raise AssertionError("rows were lost")
        return len(runs)

    return work


def large_frames(records: int) -> Work:
    """Records of a megabyte by key into frames and back."""
    count = max(1, records // _LARGE_SHARE)
    exchange = Exchange(None, key=number_of, consumers=_CONSUMERS)
    runs = [[blob(index)] for index in range(count)]

    def work() -> int:
        return exchange.receive(exchange.send(runs))

    return work


def bare_copies(records: int) -> Work:
    """What ``large_frames`` is beside: each megabyte copied three times, and nothing else."""
    payloads = [blob(index)[1] for index in range(max(1, records // _LARGE_SHARE))]

    def work() -> int:
        for payload in payloads:
            bytes(bytearray(bytearray(payload)))
        return len(payloads)

    return work


def _encoding(exchange: Exchange, runs: list[list[Any]], *, again: bool = False) -> Work:
    """Send all runs, of which the exchange may have seen the keys before."""

    def work() -> int:
        exchange.send(runs)
        return sum(map(len, runs))

    if again:
        work()
    return work


def _decoding(exchange: Exchange, runs: list[list[Any]]) -> Work:
    frames = exchange.send(runs)
    return lambda: exchange.receive(frames)
