"""Run codecs: how the values of a run become bytes, and values again.

Two encodings: Arrow for types that map to it as a whole, pickle for everything else. The tag says
which codec made the bytes. Both ends know the type, so an Arrow run carries no schema.
"""

import pickle
from functools import lru_cache
from typing import Any, Final, Protocol

import pyarrow as pa

from riverrun.serde import empty_columns
from riverrun.serde.check import checker_for
from riverrun.serde.columns import CONVERSION_ERRORS, ColumnRun, layout_of, plain_rows
from riverrun.serde.composite_types import DataclassTypeInfo, NamedTupleTypeInfo, RowTypeInfo
from riverrun.serde.pickled_runs import PickleRunCodec, UnpicklableValue, pickled
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


class ArrowRunCodec:
    """Values of one type that maps to Arrow, a column a field.

    `encode` enforces the type as the checker of the type does, so a run that is encoded need not be
    checked before. Values of the type that Arrow would not give back as they are (a datetime with a
    zone, a subclass of a dataclass, a lone surrogate) make the whole run travel pickled, under the
    same tag. Other subclasses arrive as the class that the type names, and an int in a float column
    as a float. A run that has columns is encoded without making its records.
    """

    tag: Final = 1

    def __init__(self, type_info: TypeInformation) -> None:
        layout = layout_of(type_info)
        if layout is None:
            raise TypeError(f"{type_info!r} does not map to Arrow; use codec_for to choose")
        self.layout = layout
        self._check = checker_for(type_info)
        self._message = empty_columns.message if layout.may_have_empty else _message

    def encode(self, values: list[Any]) -> bytes:
        """The values as one Arrow record batch without its schema."""
        if isinstance(values, ColumnRun) and values.layout is self.layout:
            return self._message(values.batch)
        values = plain_rows(values)
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


def codec_for(type_info: TypeInformation | None) -> RunCodec:
    """The codec for streams of a type: Arrow where the whole type maps to it, pickle otherwise."""
    return _UNTYPED if type_info is None else _codec_for(type_info)


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
    if tag == PickleRunCodec.tag:
        return _UNTYPED.decode(data)
    codec = codec_for(type_info)
    if tag != codec.tag:
        raise ValueError(
            f"a run came with tag {tag!r}, but runs of type {type_info!r} have tag {codec.tag} or "
            f"{PickleRunCodec.tag}; both ends of a stream must declare the same type"
        )
    if columns and isinstance(codec, ArrowRunCodec):
        return codec.decode_columns(data)
    return codec.decode(data)


@lru_cache(maxsize=1024)
def _codec_for(type_info: TypeInformation) -> RunCodec:
    return PickleRunCodec(type_info) if layout_of(type_info) is None else ArrowRunCodec(type_info)


def _message(batch: pa.RecordBatch) -> bytes:
    data: bytes = batch.serialize().to_pybytes()
    return data


_UNTYPED: Final = PickleRunCodec()
