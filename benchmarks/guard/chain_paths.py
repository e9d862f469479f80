"""Paths through a chain of operators, with state or without, and what a checkpoint takes of it."""

import weakref
from collections.abc import Callable
from pathlib import Path as File
from typing import Final

from benchmarks.guard.chains import chain_of, source_task
from benchmarks.guard.work import Work, runs_of, shares
from benchmarks.payments import BOUND_MS, payment, time_of
from benchmarks.programs.transactions import Totals
from benchmarks.steps import FUNCTIONS, number
from benchmarks.timers import reminders
from benchmarks.workloads import (
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    transaction,
    with_fee,
)
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.storage.blobs import Blob, FileRef, InlineBlob

_ROCKSDB: Final = {"state.backend.type": "rocksdb"}
_SCARCE: Final = {**_ROCKSDB, "state.backend.rocksdb.memory.fixed-per-slot": "1mb"}
_STEPS_SHARE: Final = 4
"""One record through a hundred operators for so many that were asked for."""


def map_and_filter(records: int) -> Work:
    """Two stateless functions in a chain."""
    return _fed(lambda stream: stream.map(with_fee).filter(is_large), runs_of(transaction, records))


def hundred_operators(records: int) -> Work:
    """A hundred functions in a chain."""

    def build(stream: DataStream) -> DataStream:
        for function in FUNCTIONS:
            stream = stream.map(function)
        return stream

    return _fed(build, runs_of(number, max(1, records // _STEPS_SHARE)))


def value_state(records: int) -> Work:
    """A process function that reads and writes a value state for each record."""
    return _fed(_totals, runs_of(transaction, records), again=True)


def value_state_rocksdb(records: int) -> Work:
    """The same on rocksdb, whose cache holds all keys."""
    return _fed(_totals, runs_of(transaction, records), _ROCKSDB, again=True)


def value_state_scarce(records: int) -> Work:
    """The same with so little memory that most keys are read from the database."""
    return _fed(_totals, runs_of(_scattered, records), _SCARCE, again=True)


def reduce(records: int) -> Work:
    """The running sum per key."""
    return _fed(
        lambda stream: stream.key_by(customer_of).reduce(add_amounts),
        runs_of(transaction, records),
        again=True,
    )


def timers(records: int) -> Work:
    """A timer set for each record, and fired."""
    runs = [[(index, index * 7919 % records) for index in run] for run in shares(records)]
    head = chain_of(reminders).head

    def work() -> int:
        for run in runs:
            head.accept(run, None)
        head.advance(records)
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


def snapshot(records: int) -> Work:
    """A checkpoint of the hashmap backend; a record of this path is an entry."""
    chain = chain_of(_totals)
    for run in runs_of(_scattered, records):
        chain.head.accept(run, None)

    def work() -> int:
        for frozen in chain.freeze(1, 0, finished=False):
            frozen.write(_Nowhere())
            frozen.discard()
        return records

    return work


def _totals(stream: DataStream) -> DataStream:
    return stream.key_by(customer_of).process(Totals())


def _scattered(index: int) -> Transaction:
    """A key of its own for each record."""
    return index * 7919, index


def _fed(
    build: Callable[[DataStream], DataStream],
    runs: list[list[object]],
    config: dict[str, str] | None = None,
    *,
    again: bool = False,
) -> Work:
    """All runs through the chain, which may have seen them before; it is closed when the work is dropped."""
    chain = chain_of(build, config=config)
    head, records = chain.head, sum(map(len, runs))

    def work() -> int:
        for run in runs:
            head.accept(run, None)
        return records

    if again:
        work()
    weakref.finalize(work, chain.close)
    return work


class _Nowhere:
    """Files of a checkpoint that are not kept."""

    def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
        del data, shared
        return InlineBlob(b"")

    def upload(self, source: File, *, shared: bool) -> FileRef:
        raise AssertionError(f"{source}: the hashmap backend uploads no files, {shared=}")
