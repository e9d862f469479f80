"""From columns that other tools made to the Python values that a state holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.field_migration import maker_of
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, RowKind
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from riverrun.state.parquet.cells import PickleColumn
from riverrun.state.parquet.types import column_for

Fit: TypeAlias = Callable[[Any], Any]

_KIND: Final = "row_kind"
"""The field of a savepoint's structs that has the kind of a row."""


def values_in(array: pa.Array, type_info: TypeInformation | None) -> list[Any]:
    """The values of a column as the type has them; what does not fit stays, for the check to name it."""
    plain = _microseconds(array)
    if type_info is None:
        return list(plain.to_pylist())
    column = column_for(type_info)
    if not isinstance(column, PickleColumn):
        exact = _as_type(plain, column.arrow_type)
        if exact is not None:
            return column.from_array(exact)
    fit = fit_for(type_info)
    return [None if value is None else fit(value) for value in plain.to_pylist()]


def keys_in(array: pa.Array, type_info: TypeInformation | None) -> list[Any]:
    """The same for keys: a struct without a type is a tuple."""
    values = values_in(array, type_info)
    if type_info is None and pa.types.is_struct(array.type):
        return [None if value is None else _tupled(value) for value in values]
    return values


def _tupled(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(_tupled, value.values()))
    return value


def _microseconds(array: pa.Array) -> pa.Array:
    """Without the nanoseconds that Python's own classes do not have, where none are lost by it."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _microseconds(array.dictionary_decode())
    if not (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return array
    try:
        return array.cast(pa.timestamp("us", kind.tz))
    except pa.ArrowInvalid:
        return array


def _as_type(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """The same values in an array of the type; None where that is not a matter of form alone."""
    if array.type == wanted:
        return pa.concat_arrays([array]) if array.offset else array
    for is_of in (pa.types.is_integer, pa.types.is_floating, _is_text, _is_bytes):
        if is_of(array.type) and is_of(wanted):
            try:
                return array.cast(wanted)
            except pa.ArrowInvalid:
                return None
    return None


def _is_text(kind: pa.DataType) -> bool:
    found: bool = (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
    return found


def _is_bytes(kind: pa.DataType) -> bool:
    found: bool = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return found


def fit_for(type_info: TypeInformation | None) -> Fit:  # noqa: PLR0911  (a table of types)
    """What makes a value of the type out of what Arrow, a dict or a tuple has for it."""
    match type_info:
        case OptionalTypeInfo() | ExternalTypeInfo():
            return fit_for(type_info.type_info)
        case BasicTypeInfo():
            return _BASIC.get(type_info.basic_type, type_info.coerce)
        case TupleTypeInfo():
            return _tuple_fit(type_info)
        case RowTypeInfo():
            return _row_fit(type_info)
        case NamedTupleTypeInfo() | DataclassTypeInfo():
            return _class_fit(type_info)
        case PrimitiveArrayTypeInfo() if type_info.is_bytes:
            return _itself
        case (
            ListTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | PrimitiveArrayTypeInfo()
        ):
            return _list_fit(fit_for(type_info.element_type))
        case MapTypeInfo():
            return _map_fit(fit_for(type_info.key_type_info), fit_for(type_info.value_type_info))
    return _itself


def _itself(value: Any) -> Any:
    return value


def _or_none(fit: Fit, value: Any) -> Any:
    return None if value is None else fit(value)


def _tuple_fit(type_info: TupleTypeInfo) -> Fit:
    fits = [fit_for(part) for part in type_info.field_types]

    def fit(value: Any) -> Any:
        parts = list(value.values()) if isinstance(value, Mapping) else value
        if not isinstance(parts, list | tuple) or len(parts) != len(fits):
            return value
        return tuple(map(_or_none, fits, parts))

    return fit


def _row_fit(type_info: RowTypeInfo) -> Fit:
    names = type_info.get_field_names()
    by_position = type_info.field_names is None
    fits = [fit_for(part) for part in type_info.field_types]

    def fit(value: Any) -> Any:
        if isinstance(value, Row):
            return type_info.coerce(value)
        kind = None
        if isinstance(value, Mapping):
            fields = dict(value)
            kind = fields.pop(_KIND, None) if _KIND not in names else None
            value = list(fields.values()) if by_position else fields
        parts = _fields_in(value, names)
        if parts is None:
            return value
        row = type_info.coerce(tuple(map(_or_none, fits, parts)))
        if kind is not None:
            row.set_row_kind(RowKind(kind))
        return row

    return fit


def _class_fit(type_info: NamedTupleTypeInfo | DataclassTypeInfo) -> Fit:
    names = type_info.get_field_names()
    fits = [fit_for(part) for part in type_info.field_types]
    make = maker_of(type_info)

    def fit(value: Any) -> Any:
        if isinstance(value, type_info.cls) or isinstance(make, str):
            return value
        parts = _fields_in(value, names)
        return value if parts is None else make(None, list(map(_or_none, fits, parts)))

    return fit


def _fields_in(value: Any, names: Sequence[str]) -> Sequence[Any] | None:
    """The values of the fields; None if the value does not have just these."""
    if isinstance(value, Mapping):
        if len(value) == len(names) and all(name in value for name in names):
            return [value[name] for name in names]
        return None
    fits = isinstance(value, list | tuple) and len(value) == len(names)
    return value if fits else None


def _list_fit(element: Fit) -> Fit:
    def fit(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [_or_none(element, each) for each in value]

    return fit


def _map_fit(key: Fit, item: Fit) -> Fit:
    def fit(value: Any) -> Any:
        pairs = dict_of(value)
        if not isinstance(pairs, dict):
            return value
        return {_or_none(key, k): _or_none(item, v) for k, v in pairs.items()}

    return fit


def dict_of(value: Any) -> Any:
    """What Arrow gives for a map, which is a list of pairs, as a dict; anything else as it is."""
    if isinstance(value, list) and all(type(pair) is tuple and len(pair) == 2 for pair in value):  # noqa: PLR2004
        return dict(value)
    return value


def _big_int(value: Any) -> Any:
    whole = isinstance(value, Decimal) and value == value.to_integral_value()
    if whole or (isinstance(value, str) and value.lstrip("-").isdigit()):
        return int(value)
    return value


def _big_decimal(value: Any) -> Any:
    return Decimal(value) if isinstance(value, str) else value


def _instant(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"seconds", "nanos"}:
        return Instant(value["seconds"], value["nanos"])
    return value


_BASIC: Final[Mapping[BasicType, Fit]] = {
    BasicType.BIG_INT: _big_int,
    BasicType.BIG_DEC: _big_decimal,
    BasicType.INSTANT: _instant,
}
