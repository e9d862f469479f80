"""Run codecs: how the values of a run become bytes, and values again.

Two encodings: Arrow for types that map to it as a whole, pickle for everything else. The tag says
which codec made the bytes. Both ends know the type, so an Arrow run carries no schema.

Where nobody wants columns, records of a type that has a shape are written as plain values instead, which takes
a third of the time; a run's first byte says so. Whoever reads a type reads both.
"""

import pickle
from functools import lru_cache
from typing import Any, Final, Protocol

import pyarrow as pa

from riverrun import loops
from riverrun.loops import Shape, Writer
from riverrun.serde import empty_columns
from riverrun.serde.check import checker_for
from riverrun.serde.columns import CONVERSION_ERRORS, ColumnRun, layout_of, plain_rows
from riverrun.serde.composite_types import DataclassTypeInfo, NamedTupleTypeInfo, RowTypeInfo
from riverrun.serde.pickled_runs import PickleRunCodec, UnpicklableValue, pickled
from riverrun.serde.shapes import SHAPED, decoded, shape_of
from riverrun.serde.type_info import TypeInformation

__all__ = [
    "ArrowRunCodec",
    "PickleRunCodec",
    "RunCodec",
    "UnpicklableValue",
    "codec_for",
    "columns_pay",
    "decode_run",
]

# The first byte of a pickle; an Arrow message begins with 0xff, one with columns left out with 0x01.
_PICKLE_MARK: Final = 0x80
_ALIGNMENT: Final = 8


class RunCodec(Protocol):
    """An encoding of runs; ``decode(encode(values))`` equals ``values``."""

    @property
    def tag(self) -> int:
        """The number that stands for this encoding in a frame."""
        ...

    def encode(self, values: list[Any]) -> bytes:
        """The values as bytes."""
        ...

    def encode_pieces(self, values: list[Any]) -> list[bytes]:
        """The same bytes in pieces: large payloads need not be copied to be put together."""
        ...

    def decode(self, data: bytes | memoryview) -> list[Any]:
        """The values that `encode` was given; ``data`` may be reused afterwards."""
        ...

    def writer(self) -> Writer | None:
        """What writes runs as `encode` does, record by record; None where nothing does."""
        ...


class ArrowRunCodec:
    """Values of one type that maps to Arrow, a column a field.

    `encode` enforces the type as the checker of the type does, so a run that is encoded need not be
    checked before. Values of the type that Arrow would not give back as they are (a datetime with a
    zone, a subclass of a dataclass, a lone surrogate) make the whole run travel pickled, under the
    same tag. Other subclasses arrive as the class that the type names, and an int in a float column
    as a float. A run that has columns is encoded without making its records.

    Args:
        type_info: The type.
        rows: Write records that are no columns yet as plain values if their type has a shape: whoever reads them
            wants no columns.
    """

    tag: Final = 1

    def __init__(self, type_info: TypeInformation, *, rows: bool = False) -> None:
        layout = layout_of(type_info)
        if layout is None:
            raise TypeError(f"{type_info!r} does not map to Arrow; use codec_for to choose")
        self.layout = layout
        self._check = checker_for(type_info)
        self._message = empty_columns.message if layout.may_have_empty else _message
        self._shape = shape_of(type_info) if rows else None

    def writer(self) -> Writer | None:
        """A writer of plain values."""
        return None if self._shape is None else Writer(self._shape)

    def encode(self, values: list[Any]) -> bytes:
        """The values as one Arrow record batch without its schema, or as plain values."""
        if isinstance(values, ColumnRun) and values.layout is self.layout:
            return self._message(values.batch)
        values = plain_rows(values)
        if self._shape is not None:
            shaped = loops.encode_shaped(values, self._shape)
            if shaped is not None:
                return shaped
        try:
            batch = self.layout.batch_of(values)
        except CONVERSION_ERRORS:
            self._check(values)
            return pickled(list(map(self.layout.type_info.coerce, values)))
        return self._message(batch)

    def encode_pieces(self, values: list[Any]) -> list[bytes]:
        """The same in one piece."""
        return [self.encode(values)]

    def decode(self, data: bytes | memoryview) -> list[Any]:
        """The values of a record batch."""
        if self._shape is not None and data[0] == SHAPED:
            return decoded(data, self._shape)
        if data[0] == _PICKLE_MARK:
            values: list[Any] = pickle.loads(data)
            return values
        return self.layout.rows_of(empty_columns.read(pa.py_buffer(data), self.layout.schema))

    def decode_columns(self, data: bytes | memoryview) -> list[Any]:
        """The values of a record batch as columns; a plain list if they travelled pickled."""
        if data[0] == _PICKLE_MARK:
            return self.decode(data)
        buffer = pa.py_buffer(data)
        if buffer.address % _ALIGNMENT:
            # Array operations on numbers at odd addresses cost several times as much as this copy.
            buffer = pa.py_buffer(bytes(data))
        return ColumnRun(self.layout, empty_columns.read(buffer, self.layout.schema))


def codec_for(type_info: TypeInformation | None, *, rows: bool = False) -> RunCodec:
    """The codec for streams of a type: Arrow where the whole type maps to it, pickle otherwise.

    With ``rows`` records of types that have a shape are written as such: nobody wants them as columns.
    """
    return _UNTYPED if type_info is None else _codec_for(type_info, rows)


def columns_pay(type_info: TypeInformation) -> bool:
    """Whether Arrow is cheaper than pickle for runs of this type.

    Measured, encode and decode of runs of 2,048: objects with fields (dataclasses, named tuples, rows)
    take a third to a half of pickle's time as columns; plain values and tuples take twice as long.
    """
    return isinstance(type_info, DataclassTypeInfo | NamedTupleTypeInfo | RowTypeInfo)


def decode_run(
    tag: int,
    data: bytes | memoryview,
    type_info: TypeInformation | None,
    *,
    columns: bool = False,
) -> list[Any]:
    """The values of a run that the codec with this tag encoded, on a stream of this type.

    With ``columns`` they stay columns if they came as such.
    """
    codec = codec_for(type_info)
    if tag not in (PickleRunCodec.tag, codec.tag):
        raise ValueError(
            f"a run came with tag {tag!r}, but runs of type {type_info!r} have tag {codec.tag} or "
            f"{PickleRunCodec.tag}; both ends of a stream must declare the same type"
        )
    if data[0] == SHAPED:
        return decoded(data, _shape_on(type_info))
    if tag == PickleRunCodec.tag:
        return _UNTYPED.decode(data)
    if columns and isinstance(codec, ArrowRunCodec):
        return codec.decode_columns(data)
    return codec.decode(data)


def _shape_on(type_info: TypeInformation | None) -> Shape:
    shape = None if type_info is None else shape_of(type_info)
    if shape is None:
        raise ValueError(
            f"a run came as plain values of a type with fields, found the type {type_info!r}; "
            f"both ends of a stream must declare the same type"
        )
    return shape


@lru_cache(maxsize=1024)
def _codec_for(type_info: TypeInformation, rows: bool) -> RunCodec:  # noqa: FBT001  (part of what is remembered)
    if layout_of(type_info) is None:
        return PickleRunCodec(type_info, rows=rows)
    return ArrowRunCodec(type_info, rows=rows)


def _message(batch: pa.RecordBatch) -> bytes:
    data: bytes = batch.serialize().to_pybytes()
    return data


_UNTYPED: Final = PickleRunCodec()
