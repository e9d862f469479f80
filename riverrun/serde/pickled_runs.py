"""The run codec for any Python values."""

import pickle
from collections.abc import Iterator
from typing import Any, Final

import cloudpickle

from riverrun import loops
from riverrun.core.short_repr import short_repr
from riverrun.loops.written import is_plain
from riverrun.serde.columns import plain_rows
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.shapes import SHAPED, decoded, shape_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["PickleRunCodec", "UnpicklableValue", "pickled"]

_PROTOCOL: Final = 5
_UNPICKLABLE: Final = (pickle.PicklingError, AttributeError, TypeError)
_LARGE: Final = 1024
"""Bytes of a record that count as many."""
_MANY: Final = 16
"""Values that are worth a pickler of their own; fewer may be large, and are not copied into a pickle then."""
_PAYLOAD: Final = 1 << 18
"""Bytes of a piece that can only be a value's own: pickle's frames end at the first value after 64 kB."""
_BYTES: Final = frozenset({bytes})


class UnpicklableValue(TypeError):  # noqa: N818 - the name says what it is about
    """A value of a stream cannot be pickled, so it cannot leave its process.

    Attributes:
        value_repr: The value.
        reason: What pickle said.
        index: Which record of the run.
    """

    def __init__(self, value_repr: str, reason: str, index: int) -> None:
        super().__init__(value_repr, reason, index)
        self.value_repr = value_repr
        self.reason = reason
        self.index = index

    def __str__(self) -> str:
        return (
            f"record {self.index} of the run, {self.value_repr}, cannot be pickled: {self.reason}; "
            f"records that travel between tasks must be picklable or have a declared type"
        )


class PickleRunCodec:
    """Any Python values; what pickle cannot do, and what it names in ``__main__``, by cloudpickle.

    With a type, rows get the names that the type gives them, as they do in an Arrow run; with ``rows``, too, values
    of its shape, if it has one, are written as that.
    """

    tag: Final = 0

    def __init__(self, type_info: TypeInformation | None = None, *, rows: bool = False) -> None:
        self._coerce = None
        self._shape = shape_of(type_info) if rows and type_info is not None else None
        if type_info is not None and _has_named_rows(type_info):
            self._coerce = type_info.coerce

    def writer(self) -> loops.Writer | None:
        """A writer, if plain values are encoded as they are."""
        return loops.Writer(self._shape) if self._coerce is None else None

    def encode(self, values: list[Any]) -> bytes:
        """The values as a pickle; `UnpicklableValue` names the value that has none."""
        return self._shaped(values) or pickled(self._coerced(values))

    def encode_pieces(self, values: list[Any]) -> list[bytes]:
        """The same pickle in pieces, of which large ``bytes`` are the values' own."""
        shaped = self._shaped(values)
        return pickled_pieces(self._coerced(values)) if shaped is None else [shaped]

    def decode(self, data: bytes | memoryview) -> list[Any]:
        """The values of a pickle."""
        if self._shape is not None and data[0] == SHAPED:
            return decoded(data, self._shape)
        values = loops.decode(data)
        return pickle.loads(data) if values is None else values

    def _shaped(self, values: list[Any]) -> bytes | None:
        if self._shape is None or len(values) < _MANY:
            return None
        return loops.encode_shaped(plain_rows(values), self._shape)

    def _coerced(self, values: list[Any]) -> list[Any]:
        values = plain_rows(values)
        return values if self._coerce is None else list(map(self._coerce, values))


def pickled(values: list[Any]) -> bytes:
    """The values as one pickle of protocol 5."""
    plain = _plain(values)
    if plain is not None:
        return plain
    try:
        data = pickle.dumps(values, _PROTOCOL)
    except _UNPICKLABLE:
        return _cloudpickled(values)
    return _by_value(values, data)


class _Pieces(list[bytes]):
    """A file that keeps what is written to it in pieces: the pickler hands large values over as they are."""

    write = list.append


def pickled_pieces(values: list[Any]) -> list[bytes]:
    """The values as one pickle of protocol 5, in pieces; those above 64 kB are not copied if they are few."""
    plain = _plain(values)
    if plain is not None:
        return [plain]
    try:
        return _in_pieces(values)
    except _UNPICKLABLE:
        return [_cloudpickled(values)]


def _in_pieces(values: list[Any]) -> list[bytes]:
    pieces = _Pieces()
    pickle.Pickler(pieces, _PROTOCOL).dump(values)
    if not _BYTES.issuperset(map(type, pieces)):
        pieces[:] = map(bytes, pieces)  # a bytearray may still change
    for piece in pieces:
        # The names of classes are in the pickle's own pieces, which are smaller.
        if len(piece) < _PAYLOAD and b"__main__" in piece:
            return [_cloudpickled(values)]
    return pieces


def _plain(values: list[Any]) -> bytes | None:
    """A pickle of many plain values, which is made in less time; None where it cannot be."""
    data = loops.encode(values) if len(values) >= _MANY else None
    # The compiled one looks at every value, the one in Python at the first.
    return data if data is None or loops.COMPILED else _by_value(values, data)


def _by_value(values: list[Any], data: bytes) -> bytes:
    if len(data) > _LARGE * len(values) and all(map(is_plain, values)):
        return data  # to look through large records would cost as much as to pickle them
    # A class of the script that was started is called __main__ here and is not there in another
    # process, so it must travel by value. Text that says so too costs time only.
    return _cloudpickled(values) if b"__main__" in data else data


def _cloudpickled(values: list[Any]) -> bytes:
    try:
        data: bytes = cloudpickle.dumps(values, _PROTOCOL)
    except _UNPICKLABLE as error:
        for index, value in enumerate(values):
            _require_picklable(value, index)
        raise UnpicklableValue("one of its values", str(error), 0) from error
    return data


def _require_picklable(value: Any, index: int) -> None:
    try:
        cloudpickle.dumps(value, _PROTOCOL)
    except _UNPICKLABLE as error:
        raise UnpicklableValue(short_repr(value), str(error), index) from error


def _has_named_rows(type_info: TypeInformation) -> bool:
    if isinstance(type_info, RowTypeInfo) and type_info.field_names is not None:
        return True
    return any(map(_has_named_rows, _parts(type_info)))


def _parts(type_info: TypeInformation) -> Iterator[TypeInformation]:
    for part in vars(type_info).values():
        if isinstance(part, TypeInformation):
            yield part
        elif isinstance(part, tuple):
            yield from (item for item in part if isinstance(item, TypeInformation))
