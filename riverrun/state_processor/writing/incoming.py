"""Data as people have it: Arrow, pandas, polars or Spark tables, or plain Python values."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, TypeAlias

import pyarrow as pa

from riverrun.core.short_repr import short_repr
from riverrun.state_processor.writing.refusals import WriteRefused

ROWS: Final = 8192
"""Rows that are worked on together."""

_MOST_BYTES: Final = 4 << 20
_NOTHING: Final = object()

Batches: TypeAlias = Iterator[pa.RecordBatch]


class Incoming:
    """Data that is read when the savepoint is written, some thousand rows at a time."""

    def __init__(self, data: Any, owner: str) -> None:
        """``owner`` is whose data it is, for messages.

        Raises:
            WriteRefused: it is nothing that has rows.
        """
        self._data = data
        self._owner = owner
        self._used = False
        self._open = _opener(data)
        if self._open is None and not isinstance(data, Iterable):
            raise WriteRefused(
                f"{owner}: its data is {short_repr(data)} of class {type(data).__qualname__}; expected "
                f"an Arrow table or reader, a pandas, polars or Spark DataFrame, or an iterable"
            )

    def open(self) -> Batches | Iterator[Any]:
        """Batches of a table, or the values one by one; which of both, the first one tells.

        Raises:
            WriteRefused: it was an iterator, and has been read before.
        """
        if self._used and isinstance(self._data, Iterator | pa.RecordBatchReader):
            raise WriteRefused(
                f"{self._owner}: its data is an iterator, which was read before and is empty now; "
                f"give it anew, or a list or table that can be read again"
            )
        self._used = True
        if self._open is not None:
            return _cut(self._open(self._data))
        values = iter(self._data)
        first = next(values, _NOTHING)
        if isinstance(first, pa.RecordBatch | pa.Table):
            batches = chain.from_iterable(_batches_of(each) for each in chain([first], values))
            return _cut(batches)
        return iter(()) if first is _NOTHING else chain([first], values)


def tables_or_values(data: Incoming) -> tuple[Batches | None, Iterator[Any]]:
    """The batches if it is a table, else the values."""
    found = data.open()
    first = next(found, _NOTHING)
    if first is _NOTHING:
        return None, iter(())
    rest = chain([first], found)
    return (rest, iter(())) if isinstance(first, pa.RecordBatch) else (None, rest)


def _cut(batches: Iterable[pa.RecordBatch]) -> Batches:
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


def _batches_of(data: Any) -> Iterable[pa.RecordBatch]:
    if isinstance(data, pa.RecordBatch):
        return [data]
    found: Iterable[pa.RecordBatch] = data.to_batches()
    return found


def _opener(data: Any) -> Callable[[Any], Iterable[pa.RecordBatch]] | None:
    """What reads a table of this kind; None if it is none."""
    if isinstance(data, pa.RecordBatch | pa.Table):
        return _batches_of
    if isinstance(data, pa.RecordBatchReader):
        return iter
    if type(data).__module__.partition(".")[0] == "pandas":
        return _of_pandas
    if hasattr(data, "mapInArrow") and hasattr(data, "toLocalIterator"):
        return _of_spark
    if hasattr(data, "__arrow_c_stream__"):
        return _of_stream
    return None


def _of_pandas(frame: Any) -> Batches:
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    for start in range(0, len(frame), ROWS):
        part = frame.iloc[start : start + ROWS]
        yield pa.RecordBatch.from_pandas(part, schema=schema, preserve_index=False)


def _of_stream(data: Any) -> Batches:
    yield from pa.RecordBatchReader.from_stream(data)


def _of_spark(frame: Any) -> Batches:
    """One partition after the other comes to the driver, as Arrow: never all of it."""
    packed = frame.mapInArrow(_packed, "data binary")
    for row in packed.toLocalIterator():
        yield from pa.ipc.open_stream(io.BytesIO(row[0]))


def _packed(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Some batches at a time as a row with their bytes; runs in Spark's workers."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    # In sessions that are set for jobs of riverrun a batch is a single row.
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= _MOST_BYTES:
            yield _as_row(held)
            held, rows, size = [], 0, 0
    if held:
        yield _as_row(held)


def _as_row(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        writer.write_batch(pa.concat_batches(batches))
    return pa.RecordBatch.from_pydict({"data": [sink.getvalue().to_pybytes()]})
