"""The guarded paths: each is prepared afresh, then handles its records once.

``PATHS[name](records)`` prepares and gives the work to measure, which says how many records it handled.
What preparation makes (values, programs, encoded frames) does not count. ``bare_loop`` is what the costs
of all of them are divided by.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.guard.chains import chain_of, source_task
from benchmarks.guard.exchange import Exchange
from benchmarks.loops.transactions import keyed
from benchmarks.payment_columns import payment_columns
from benchmarks.payments import BOUND_MS, WINDOW_MS, payment, time_of
from benchmarks.programs.transactions import Totals
from benchmarks.programs.windows import SpendFunction
from benchmarks.timers import reminders
from benchmarks.workloads import (
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    transaction,
    with_fee,
)
from riverrun.api.column_aggregates import Agg
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.column_views import batch_from
from riverrun.serde.columns import ColumnRun, TimeColumn, layout_of
from riverrun.serde.infer import return_type_of

Work: TypeAlias = Callable[[], int]
Path: TypeAlias = Callable[[int], Work]

_RUN: Final = 2048
"""Records of a run: what a task takes in hand at once when records are cheap."""
_CONSUMERS: Final = 4


class Sale(NamedTuple):
    """A transaction whose fields have names: runs of it travel as columns."""

    customer: int
    amount: int


def sale(index: int) -> Sale:
    """The transaction number ``index``."""
    return Sale(*transaction(index))


def bare_loop(records: int) -> Work:
    """The user's functions in a plain loop: calls, tuples and a dict, as in all that follows."""

    def work() -> int:
        keyed(range(records))
        return records

    return work


def encode_pickled(records: int) -> Work:
    """Runs of a stream without a type into frames."""
    return _encoding(Exchange(None), _runs(transaction, records))


def encode_typed(records: int) -> Work:
    """Runs of a stream with a type into frames."""
    return _encoding(Exchange(return_type_of(sale)), _runs(sale, records))


def decode_pickled(records: int) -> Work:
    """Frames of a stream without a type into runs."""
    return _decoding(Exchange(None), _runs(transaction, records))


def decode_typed(records: int) -> Work:
    """Frames of a stream with a type into runs."""
    return _decoding(Exchange(return_type_of(sale)), _runs(sale, records))


def key_routing(records: int) -> Work:
    """Key selector, hash of the key, and the run shared out; with the frames that come of it."""
    exchange = Exchange(None, key=customer_of, consumers=_CONSUMERS)
    return _encoding(exchange, _runs(transaction, records))


def map_and_filter(records: int) -> Work:
    """Two stateless functions in a chain."""
    return _chained(lambda stream: stream.map(with_fee).filter(is_large), records)


def value_state(records: int) -> Work:
    """A process function that reads and writes a value state for each record."""
    return _chained(lambda stream: stream.key_by(customer_of).process(Totals()), records)


def reduce(records: int) -> Work:
    """The running sum per key."""
    return _chained(lambda stream: stream.key_by(customer_of).reduce(add_amounts), records)


def timers(records: int) -> Work:
    """A timer set for each record, and fired."""
    runs = [[(index, index * 7919 % records) for index in run] for run in _shares(records)]
    head = chain_of(reminders).head

    def work() -> int:
        for run in runs:
            head.accept(run, None)
        head.advance(records)
        return records

    return work


def window_aggregate(records: int) -> Work:
    """Sums by a Python function in tumbling windows, watermarks included."""
    runs = []
    for indexes in _shares(records):
        values = list(map(payment, indexes))
        runs.append((values, [time_of(value) for value in values]))

    def build(stream: DataStream) -> DataStream:
        keyed = stream.key_by(customer_of)
        return keyed.window(TumblingEventTimeWindows(WINDOW_MS)).aggregate(SpendFunction())

    head = chain_of(build).head

    def work() -> int:
        for values, times in runs:
            head.accept(values, times)
            head.advance(times[-1] - BOUND_MS)
        head.finish()
        return records

    return work


def column_aggregate(records: int) -> Work:
    """The same sums declared on columns."""
    schema = pa.schema([(name, pa.int64()) for name in ("customer", "amount", "time")])
    type_info = type_of_schema(schema)
    layout = layout_of(type_info)
    assert layout is not None  # columns of integers have one
    runs = []
    for indexes in _shares(records):
        columns = payment_columns(np.arange(indexes.start, indexes.stop))
        run = ColumnRun(layout, batch_from(layout, columns))
        runs.append((run, TimeColumn(columns["time"])))

    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by_columns("customer").window(TumblingEventTimeWindows(WINDOW_MS))
        return windows.aggregate_columns(Agg.sum("amount").alias("spend"))

    head = chain_of(build, type_info).head

    def work() -> int:
        for values, times in runs:
            columns: Any = times
            head.accept(values, columns)
            head.advance(int(times.array[-1]) - BOUND_MS)
        head.finish()
        return records

    return work


def source_poll(records: int) -> Work:
    """A source that makes records, with timestamps and watermarks, into the chain behind it."""
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    source = DataGeneratorSource(payment, records)
    task = source_task(source, bounded.with_timestamp_assigner(time_of))

    def work() -> int:
        while not task.input_over:
            task.turn()
        return records

    return work


PATHS: Final[Mapping[str, Path]] = {
    "encode pickled": encode_pickled,
    "encode typed": encode_typed,
    "decode pickled": decode_pickled,
    "decode typed": decode_typed,
    "key routing": key_routing,
    "map and filter": map_and_filter,
    "value state": value_state,
    "reduce": reduce,
    "timers": timers,
    "window aggregate": window_aggregate,
    "column aggregate": column_aggregate,
    "source poll": source_poll,
}


def _shares(records: int) -> Iterator[range]:
    for start in range(0, records, _RUN):
        yield range(start, min(start + _RUN, records))


def _runs(make: Callable[[int], Any], records: int) -> list[list[Any]]:
    return [list(map(make, indexes)) for indexes in _shares(records)]


def _encoding(exchange: Exchange, runs: list[list[Transaction]]) -> Work:
    def work() -> int:
        exchange.send(runs)
        return sum(map(len, runs))

    return work


def _decoding(exchange: Exchange, runs: list[list[Any]]) -> Work:
    frames = exchange.send(runs)
    return lambda: exchange.receive(frames)


def _chained(build: Callable[[DataStream], DataStream], records: int) -> Work:
    runs = _runs(transaction, records)
    head = chain_of(build).head

    def work() -> int:
        for run in runs:
            head.accept(run, None)
        return records

    return work
