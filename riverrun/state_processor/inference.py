"""Which Arrow type values without a declared type have, found by looking at all of them.

What people compute with becomes columns: numbers, text, times, and lists, dicts, tuples, rows and objects
with fields made of these. A value of a class of the program's own has its fields, and forgets its class:
these columns are for looking at, the values themselves are what ``StateTable.rows`` gives.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from operator import attrgetter, methodcaller
from types import NoneType
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from riverrun.state_processor.record_fields import Fields, fields_of

_INT64: Final = range(-(1 << 63), 1 << 63)
_EXACT_FLOATS: Final = range(-(1 << 53), (1 << 53) + 1)
_MOST_DIGITS: Final = 38
_MOST_FIELDS: Final = 64
"""A dict with more different keys than this is a map, not a record."""
_RECORD: Final = "record of "

_Convert: TypeAlias = Callable[[Any], Any]


class Shape:
    """What all values that were seen have in common."""

    def __init__(self, pair: tuple[str, str] | None = None) -> None:
        """``pair``: the names of the two fields of pairs of whole numbers."""
        self._pair = pair
        self._kinds: set[str] = set()
        self._none = False
        self._ints: tuple[int, int] = (0, 0)
        """The smallest and the largest."""
        self._digits = (0, 0)
        """Of decimals, before and after the point."""
        self._fields: dict[str, Shape] | None = {}
        """Of records, and of dicts as long as these may be records."""
        self._element: Shape | None = None
        """Of lists, and the values of dicts."""
        self._key: Shape | None = None
        """Of dicts."""
        self._adapted: dict[type, _Convert] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Look at more values."""
        classes = set(map(type, values))
        self._none |= NoneType in classes
        for cls in classes - {NoneType}:
            alone = len(classes) == 1
            self._add(cls, values if alone else [v for v in values if type(v) is cls])

    def arrow_type(self) -> pa.DataType | None:
        """The type of a column that holds all of them; None if there is none."""
        if not self._kinds:
            return pa.string()
        if self._kinds == {"int", "float"}:
            exact = all(each in _EXACT_FLOATS for each in self._ints)
            return pa.float64() if exact else None
        if len(self._kinds) > 1:
            return None
        (kind,) = self._kinds
        find = _FINDERS.get(kind, Shape._record_type if kind.startswith(_RECORD) else None)
        return _SIMPLE.get(kind) if find is None else find(self)

    def converter(self) -> _Convert | None:
        """What makes of a value (not of None) what Arrow takes; None: it takes them as they are."""
        kind = next(iter(self._kinds), "")
        if kind == "list":
            return self._list_converter()
        if kind == "dict" and self._record_type() is None:
            return self._map_converter()
        if kind == "dict" or kind.startswith(_RECORD):
            return self._record_converter()
        adapted = self._adapted
        if not adapted:
            return None
        return lambda value: adapted[type(value)](value) if type(value) in adapted else value

    def _add(self, cls: type, values: Sequence[Any]) -> None:
        if cls in _PLAIN:
            self._add_plain(_PLAIN[cls], values)
            return
        adapted = _adapted(cls)
        if adapted is not None:
            kind, convert = adapted
            self._adapted[cls] = convert
            self._add_plain(kind, list(map(convert, values)))
        elif issubclass(cls, Mapping):
            self._add_dicts(values)
        elif issubclass(cls, list | set | frozenset | deque | np.ndarray):
            self._kinds.add("list")
            self._element = self._element or Shape()
            self._element.add(list(chain.from_iterable(values)))
        else:
            self._add_records(cls, values)

    def _add_plain(self, kind: str, values: Sequence[Any]) -> None:
        if kind in _ZONED:
            zoned = {value.tzinfo is not None for value in values}
            self._kinds |= {f"zoned {kind}" if each else kind for each in zoned}
            return
        self._kinds.add(kind)
        if kind == "int":
            low, high = self._ints
            self._ints = min(low, *values), max(high, *values)
        elif kind == "decimal":
            self._add_decimals(values)
        elif kind == "str" and not _has_utf8(values):
            self._kinds.add("text with surrogates")

    def _add_decimals(self, values: Sequence[Decimal]) -> None:
        before, after = self._digits
        for value in values:
            parts = value.as_tuple()
            if not isinstance(parts.exponent, int):
                self._kinds.add("decimal that is no number")
                return
            after = max(after, -parts.exponent)
            before = max(before, len(parts.digits) + parts.exponent)
        self._digits = before, after

    def _add_dicts(self, values: Sequence[Any]) -> None:
        self._kinds.add("dict")
        keys = list(chain.from_iterable(values))
        self._key = self._key or Shape()
        self._key.add(keys)
        self._element = self._element or Shape()
        self._element.add(list(chain.from_iterable(value.values() for value in values)))
        names = dict.fromkeys(keys)
        if self._fields is None or any(type(name) is not str or not name for name in names):
            self._fields = None
            return
        for name in names:
            field = self._fields.setdefault(name, Shape())
            field.add([value[name] for value in values if name in value])
        if len(self._fields) > _MOST_FIELDS:
            self._fields = None

    def _add_records(self, cls: type, values: Sequence[Any]) -> None:
        found = fields_of(cls, values, self._pair)
        name = f"{cls.__module__}.{cls.__qualname__}"
        if found is None or self._fields is None:
            self._kinds.add(f"instance of {name}")
            return
        self._kinds.add(f"{_RECORD}{name} with {', '.join(found)}")
        self._adapted[cls] = _to_dict(found)
        for field, get in found.items():
            try:
                column = list(map(get, values))
            except AttributeError:
                self._kinds.add(f"instance of {name} without {field}")
                return
            self._fields.setdefault(field, Shape()).add(column)

    def _int_type(self) -> pa.DataType | None:
        return pa.int64() if all(each in _INT64 for each in self._ints) else None

    def _decimal_type(self) -> pa.DataType | None:
        digits = sum(self._digits)
        return pa.decimal128(max(digits, 1), self._digits[1]) if digits <= _MOST_DIGITS else None

    def _list_type(self) -> pa.DataType | None:
        element = None if self._element is None else self._element.arrow_type()
        return None if element is None else pa.list_(element)

    def _dict_type(self) -> pa.DataType | None:
        return self._record_type() or self._map_type()

    def _record_type(self) -> pa.DataType | None:
        types = {name: field.arrow_type() for name, field in (self._fields or {}).items()}
        if not types or None in types.values():
            return None
        return pa.struct([pa.field(name, each) for name, each in types.items()])

    def _map_type(self) -> pa.DataType | None:
        key = None if self._key is None or self._key._none else self._key.arrow_type()  # noqa: SLF001
        value = None if self._element is None else self._element.arrow_type()
        return None if key is None or value is None else pa.map_(key, value)

    def _list_converter(self) -> _Convert:
        convert = _or_same(self._element)
        return lambda values: list(map(convert, values))

    def _map_converter(self) -> _Convert:
        key, value = _or_same(self._key), _or_same(self._element)
        return lambda found: [(key(each), value(item)) for each, item in found.items()]

    def _record_converter(self) -> _Convert:
        adapted = self._adapted
        inner = {
            name: _or_same(field)
            for name, field in (self._fields or {}).items()
            if field.converter() is not None
        }

        def converted(value: Any) -> dict[str, Any]:
            to_dict = adapted.get(type(value), dict)
            found: dict[str, Any] = to_dict(value)
            for name, convert in inner.items():
                if name in found:
                    found[name] = convert(found[name])
            return found

        return converted


def _or_same(shape: Shape | None) -> _Convert:
    """The converter of a shape for None, too."""
    convert = None if shape is None else shape.converter()
    if convert is None:
        return _same
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value


def _to_dict(fields: Fields) -> _Convert:
    items = list(fields.items())
    return lambda value: {name: get(value) for name, get in items}


def _has_utf8(values: Sequence[str]) -> bool:
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def _adapted(cls: type) -> tuple[str, _Convert] | None:
    """The kind of column that values of ``cls`` have in another form."""
    if issubclass(cls, enum.StrEnum | UUID):
        return "str", str
    if issubclass(cls, enum.Enum):
        return "str", attrgetter("name")
    if issubclass(cls, np.generic):
        kinds = {np.integer: "int", np.floating: "float", np.bool_: "bool"}
        found = [kind for base, kind in kinds.items() if issubclass(cls, base)]
        return (found[0], methodcaller("item")) if found else None
    return next(((_PLAIN[base], _same) for base in cls.__mro__ if base in _PLAIN), None)


_PLAIN: Final[Mapping[type, str]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    bytes: "bytes",
    bytearray: "bytes",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "timedelta",
}
_ZONED: Final = frozenset({"datetime", "time"})
_SIMPLE: Final[Mapping[str, pa.DataType]] = {
    "bool": pa.bool_(),
    "float": pa.float64(),
    "str": pa.string(),
    "bytes": pa.binary(),
    "datetime": pa.timestamp("us"),
    "zoned datetime": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timedelta": pa.duration("us"),
}
_FINDERS: Final[Mapping[str, Callable[[Shape], pa.DataType | None]]] = {
    "int": Shape._int_type,  # noqa: SLF001
    "decimal": Shape._decimal_type,  # noqa: SLF001
    "list": Shape._list_type,  # noqa: SLF001
    "dict": Shape._dict_type,  # noqa: SLF001
}
