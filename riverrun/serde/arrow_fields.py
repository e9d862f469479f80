"""How values with fields are split into columns and joined again: tuples, rows, dataclasses."""

from collections import deque
from collections.abc import Sequence
from dataclasses import fields
from inspect import getattr_static
from itertools import repeat
from operator import attrgetter
from types import MemberDescriptorType, NoneType
from typing import Any, Protocol

from riverrun.serde.arrow_columns import Inexact, classes_of
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, kinds_of, rows_of, values_of
from riverrun.serde.transpose import columns_of

__all__ = [
    "DataclassFields",
    "Fields",
    "InstantFields",
    "NamedTupleFields",
    "RowFields",
    "TupleFields",
    "is_made_of_fields",
    "is_plain_dataclass",
]


class Fields(Protocol):
    """One class's way into columns and back; ``join(split(values))`` equals the values."""

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        """A column a field. Raises ValueError for values of another shape."""
        ...

    def join(self, columns: Sequence[list[Any]]) -> list[Any]:
        """The values whose fields these columns are."""
        ...


class TupleFields:
    """Tuples; a subclass arrives as a tuple."""

    def __init__(self, arity: int) -> None:
        self._arity = arity

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        if NoneType in classes_of(values, (tuple,)):
            raise TypeError("expected tuples, found None")
        return columns_of(values, self._arity)

    def join(self, columns: Sequence[list[Any]]) -> list[Any]:
        return list(zip(*columns, strict=True))


class NamedTupleFields:
    """Instances of one ``NamedTuple`` class."""

    def __init__(self, cls: type[Any], arity: int) -> None:
        self._cls = cls
        self._arity = arity

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        _require_class(values, self._cls)
        return columns_of(values, self._arity)

    def join(self, columns: Sequence[list[Any]]) -> list[Any]:
        # tuple.__new__ and not the class: its generated __new__ would repack the arguments.
        return list(map(tuple.__new__, repeat(self._cls), zip(*columns, strict=True)))


class RowFields:
    """Rows; the last column is their kinds."""

    def __init__(self, names: tuple[str, ...] | None, arity: int) -> None:
        self._names = names
        self._arity = arity

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        _require_class(values, Row)
        try:
            ordered = values_of(values, self._names)
        except ValueError:
            if self._names is None:
                raise Inexact("names of fields that the type does not have") from None
            raise
        return [*columns_of(ordered, self._arity), kinds_of(values)]

    def join(self, columns: Sequence[list[Any]]) -> list[Any]:
        *values, kinds = columns
        return rows_of(self._names, map(list, zip(*values, strict=True)), kinds)


class DataclassFields:
    """Instances of one plain dataclass (see `is_plain_dataclass`)."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls
        names = [field.name for field in fields(cls)]
        self._getters = [attrgetter(name) for name in names]
        found = (getattr_static(cls, name, None) for name in names)
        self._slots = [slot for slot in found if isinstance(slot, MemberDescriptorType)]
        self._names = names
        self._fill = self._call
        if len(self._slots) == len(names):
            self._fill = self._fill_slots
        elif not self._slots and cls.__dict__["__dataclass_params__"].frozen:
            self._fill = self._fill_dicts

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        _require_class(values, self._cls)
        return [list(map(get, values)) for get in self._getters]

    def join(self, columns: Sequence[list[Any]]) -> list[Any]:
        return self._fill(columns)

    def _call(self, columns: Sequence[list[Any]]) -> list[Any]:
        return list(map(self._cls, *columns))

    # The generated __init__ of a frozen class sets each field by a call of object.__setattr__;
    # filling all instances column by column takes half the time.

    def _fill_slots(self, columns: Sequence[list[Any]]) -> list[Any]:
        made = self._make(len(columns[0]))
        for slot, column in zip(self._slots, columns, strict=True):
            deque(map(slot.__set__, made, column), maxlen=0)
        return made

    def _fill_dicts(self, columns: Sequence[list[Any]]) -> list[Any]:
        made = self._make(len(columns[0]))
        dicts = [instance.__dict__ for instance in made]
        for name, column in zip(self._names, columns, strict=True):
            deque(map(dict.__setitem__, dicts, repeat(name), column), maxlen=0)
        return made

    def _make(self, count: int) -> list[Any]:
        return list(map(object.__new__, repeat(self._cls, count)))


class InstantFields:
    """Instants as seconds and nanoseconds."""

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        _require_class(values, Instant)
        return [[value.seconds for value in values], [value.nanos for value in values]]

    def join(self, columns: Sequence[list[Any]]) -> list[Any]:
        return list(map(Instant, *columns))


# With one of these a dataclass may hold more than its fields, or make itself in its own way.
_OWN_WAYS = (
    "__post_init__",
    "__getstate__",
    "__setstate__",
    "__reduce__",
    "__reduce_ex__",
    "__getnewargs__",
    "__getnewargs_ex__",
    "__new__",
)
_GENERATED = {"__getstate__", "__setstate__"}


def is_plain_dataclass(cls: type[Any]) -> bool:
    """Whether an instance is its fields and nothing else, so that columns can stand for it.

    The generated ``__init__`` must take all fields by position, and the class must not define how
    it is made or pickled. (A frozen class with slots has generated methods for that.)
    """
    params = cls.__dict__.get("__dataclass_params__")
    if params is None or not params.init or not fields(cls):
        return False
    if not all(field.init and not field.kw_only for field in fields(cls)):
        return False
    init_only = cls.__init__.__code__.co_argcount - 1 != len(fields(cls))
    return not init_only and not any(_defines(cls, name) for name in _OWN_WAYS)


def is_made_of_fields(cls: type[Any]) -> bool:
    """Whether to set the fields of a plain dataclass is all that its ``__init__`` does."""
    if not is_plain_dataclass(cls):
        return False
    if cls.__dict__["__dataclass_params__"].frozen:
        return True
    # The generated method has no file of its own.
    is_generated = cls.__init__.__code__.co_filename == "<string>"
    return is_generated and not _defines(cls, "__setattr__")


def _defines(cls: type[Any], name: str) -> bool:
    for base in cls.__mro__[:-1]:
        if name in base.__dict__:
            generated = getattr(base.__dict__[name], "__module__", None) == "dataclasses"
            return not (name in _GENERATED and generated)
    return False


def _require_class(values: Sequence[Any], cls: type[Any]) -> None:
    if values and set(map(type, values)) != {cls}:
        raise Inexact(f"a subclass of {cls.__qualname__}")
