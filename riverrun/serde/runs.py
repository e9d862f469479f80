"""Run codecs: how the values of a run become bytes, and values again.

Two encodings: Arrow for types that map to it as a whole, pickle for everything else. The tag says
which codec made the bytes. Both ends know the type, so an Arrow run carries no schema.
"""

import pickle
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import pyarrow as pa

from riverrun.serde.arrow_columns import Inexact
from riverrun.serde.arrow_types import column_for, field_columns_for
from riverrun.serde.check import checker_for, takes_none
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

# The first byte of a pickle; an Arrow message begins with 0xff.
_PICKLE_MARK: Final = 0x80
_CONVERSION_ERRORS: Final = (
    Inexact,
    pa.ArrowException,
    struct.error,
    ArithmeticError,
    AttributeError,
    TypeError,
    ValueError,
)


class RunCodec(Protocol):
    """An encoding of runs; ``decode(encode(values))`` equals ``values``."""

    @property
    def tag(self) -> int:
        """The number that stands for this encoding in a frame."""
        ...

    def encode(self, values: list[Any]) -> bytes:
        """The values as bytes."""
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
    as a float.
    """

    tag: Final = 1

    def __init__(self, type_info: TypeInformation) -> None:
        parts = field_columns_for(type_info)
        whole = None if parts is not None else column_for(type_info)
        if parts is None and whole is None:
            raise TypeError(f"{type_info!r} does not map to Arrow; use codec_for to choose")
        self._type_info = type_info
        self._check = checker_for(type_info)
        self._none = takes_none(type_info)
        self._fields = None if parts is None else parts.fields
        self._columns = parts.columns if parts is not None else [whole] if whole else []
        names = ["value"] if parts is None else parts.names
        self._schema = pa.schema(
            [
                pa.field(name, column.arrow_type)
                for name, column in zip(names, self._columns, strict=True)
            ]
        )

    def encode(self, values: list[Any]) -> bytes:
        """The values as one Arrow record batch without its schema."""
        try:
            batch = self._to_batch(values)
        except _CONVERSION_ERRORS:
            self._check(values)
            return pickled(list(map(self._type_info.coerce, values)))
        data: bytes = batch.serialize().to_pybytes()
        return data

    def decode(self, data: bytes | memoryview) -> list[Any]:
        """The values of a record batch."""
        if data[0] == _PICKLE_MARK:
            values: list[Any] = pickle.loads(data)
            return values
        batch = pa.ipc.read_record_batch(pa.py_buffer(data), self._schema)
        parts = [
            column.from_array(array)
            for column, array in zip(self._columns, batch.columns, strict=True)
        ]
        return parts[0] if self._fields is None else self._fields.join(parts)

    def _to_batch(self, values: Sequence[Any]) -> pa.RecordBatch:
        split = [values] if self._fields is None else self._fields.split(values)
        arrays = [column.to_array(part) for column, part in zip(self._columns, split, strict=True)]
        if self._fields is None and not self._none and arrays[0].null_count:
            raise TypeError("a record of this type is never None")
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def codec_for(type_info: TypeInformation | None) -> RunCodec:
    """The codec for streams of a type: Arrow where the whole type maps to it, pickle otherwise."""
    return _UNTYPED if type_info is None else _codec_for(type_info)


def columns_pay(type_info: TypeInformation) -> bool:
    """Whether Arrow is cheaper than pickle for runs of this type.

    Measured, encode and decode of runs of 2,048: objects with fields (dataclasses, named tuples, rows)
    take a third to a half of pickle's time as columns; plain values and tuples take twice as long.
    """
    return isinstance(type_info, DataclassTypeInfo | NamedTupleTypeInfo | RowTypeInfo)


def decode_run(tag: int, data: bytes | memoryview, type_info: TypeInformation | None) -> list[Any]:
    """The values of a run that the codec with this tag encoded, on a stream of this type."""
    if tag == PickleRunCodec.tag:
        return _UNTYPED.decode(data)
    codec = codec_for(type_info)
    if tag != codec.tag:
        raise ValueError(
            f"a run came with tag {tag!r}, but runs of type {type_info!r} have tag {codec.tag} or "
            f"{PickleRunCodec.tag}; both ends of a stream must declare the same type"
        )
    return codec.decode(data)


@lru_cache(maxsize=1024)
def _codec_for(type_info: TypeInformation) -> RunCodec:
    if field_columns_for(type_info) is None and column_for(type_info) is None:
        return PickleRunCodec(type_info)
    return ArrowRunCodec(type_info)


_UNTYPED: Final = PickleRunCodec()
