"""Columns by name: what keys, masks, timestamps and aggregates are declared with.

``col("amount") * 2 > 10`` is an expression. Over a run of records it is computed on Arrow columns, for
all records at once; called with one record it gives that record's value, so that it can stand wherever
a function of a record can: as key selector, filter or timestamp assigner. None (null) in, None out.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, TypeAlias

import pyarrow as pa

from riverrun.api.functions import KeySelector
from riverrun.core.errors import ProgramError
from riverrun.serde.column_views import view_column
from riverrun.serde.columns import ColumnLayout, ColumnRun, TimeColumn, layout_of
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation

__all__ = ["Column", "ColumnKey", "col"]

Name: TypeAlias = str | int
_POSITION: Final = re.compile(r"f(\d+)\Z")


class Column:
    """An expression over the columns of a stream; made with ``col`` and operators."""

    def of(self, run: ColumnRun) -> pa.Array:
        """The values for a run."""
        raise NotImplementedError

    def __call__(self, value: Any, record_timestamp: int | None = None) -> Any:
        """The value for one record; with a timestamp so far, as a timestamp assigner."""
        made = self.of_record(value)
        return made if record_timestamp is None else millis_of(made)

    def of_record(self, value: Any) -> Any:
        """The value for one record."""
        raise NotImplementedError

    def names(self) -> frozenset[Name]:
        """The columns that the expression reads."""
        raise NotImplementedError

    def is_null(self) -> Column:
        """Whether the value is missing."""
        return _Operation("is_null", (self,))

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return _Operation("==", (self, _expression(other)))

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return _Operation("!=", (self, _expression(other)))

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Column:
        return _Operation("<", (self, _expression(other)))

    def __le__(self, other: Any) -> Column:
        return _Operation("<=", (self, _expression(other)))

    def __gt__(self, other: Any) -> Column:
        return _Operation(">", (self, _expression(other)))

    def __ge__(self, other: Any) -> Column:
        return _Operation(">=", (self, _expression(other)))

    def __add__(self, other: Any) -> Column:
        return _Operation("+", (self, _expression(other)))

    def __sub__(self, other: Any) -> Column:
        return _Operation("-", (self, _expression(other)))

    def __mul__(self, other: Any) -> Column:
        return _Operation("*", (self, _expression(other)))

    def __truediv__(self, other: Any) -> Column:
        return _Operation("/", (self, _expression(other)))

    def __radd__(self, other: Any) -> Column:
        return _Operation("+", (_expression(other), self))

    def __rsub__(self, other: Any) -> Column:
        return _Operation("-", (_expression(other), self))

    def __rmul__(self, other: Any) -> Column:
        return _Operation("*", (_expression(other), self))

    def __rtruediv__(self, other: Any) -> Column:
        return _Operation("/", (_expression(other), self))

    def __and__(self, other: Any) -> Column:
        return _Operation("&", (self, _expression(other)))

    def __or__(self, other: Any) -> Column:
        return _Operation("|", (self, _expression(other)))

    def __invert__(self) -> Column:
        return _Operation("~", (self,))

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no truth value of its own; join conditions with & and |, and negate with ~"
        )


class Field(Column):
    """A column by name or position; ``position`` is where a stream's type has the column of that name."""

    def __init__(self, name: Name, position: int | None = None) -> None:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise TypeError(f"col: got {name!r}; expected the name or the position of a column")
        self.name = name
        self.position = position
        self._getters: dict[type, Callable[[Any], Any]] = {}

    def of(self, run: ColumnRun) -> pa.Array:
        return view_column(run, position_of("col", run.layout, self.name))

    def of_record(self, value: Any) -> Any:
        try:
            return self._getters[type(value)](value)
        except KeyError:
            get = self._getters[type(value)] = _getter(value, self.name, self.position)
            return get(value)

    def names(self) -> frozenset[Name]:
        return frozenset((self.name,))

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "position": self.position, "_getters": {}}

    def __repr__(self) -> str:
        return f"col({self.name!r})"


class Literal(Column):
    """The same value for every record."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def of(self, run: ColumnRun) -> Any:
        del run
        return pa.scalar(self.value)

    def of_record(self, value: Any) -> Any:
        del value
        return self.value

    def names(self) -> frozenset[Name]:
        return frozenset()

    def __repr__(self) -> str:
        return repr(self.value)


class _Operation(Column):
    def __init__(self, symbol: str, operands: tuple[Column, ...]) -> None:
        self._symbol = symbol
        self._operands = operands

    def of(self, run: ColumnRun) -> Any:
        operands = [operand.of(run) for operand in self._operands]
        if self._symbol == "/" and pa.types.is_integer(operands[0].type):
            operands[0] = operands[0].cast(pa.float64())
        compute = importlib.import_module("pyarrow.compute")
        return getattr(compute, _COLUMNS[self._symbol])(*operands)

    def of_record(self, value: Any) -> Any:
        values = [operand.of_record(value) for operand in self._operands]
        special = _WITH_NULLS.get(self._symbol)
        if special is not None:
            return special(*values)
        return None if None in values else _RECORDS[self._symbol](*values)

    def names(self) -> frozenset[Name]:
        return frozenset().union(*(operand.names() for operand in self._operands))

    def __repr__(self) -> str:
        if self._symbol == "is_null":
            return f"{self._operands[0]!r}.is_null()"
        if len(self._operands) == 1:
            return f"{self._symbol}{self._operands[0]!r}"
        return f"({f' {self._symbol} '.join(map(repr, self._operands))})"


class ColumnKey(KeySelector):
    """The value of one column, or the tuple of the values of several, as key."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields

    def get_key(self, value: Any) -> Any:
        if len(self.fields) == 1:
            return self.fields[0].of_record(value)
        return tuple(field.of_record(value) for field in self.fields)

    def positions(self, layout: ColumnLayout) -> list[int]:
        """Where the columns of the key are."""
        return [position_of("key_by", layout, field.name) for field in self.fields]

    def __repr__(self) -> str:
        return f"ColumnKey({', '.join(map(repr, self.fields))})"


def col(name: Name) -> Field:
    """The column with this name, or at this position.

    Fields of a tuple are called ``f0``, ``f1`` and so on; the only column of a stream of plain values
    is called ``value``.
    """
    return Field(name)


def column_key(selector: object) -> ColumnKey | None:
    """The columns that a key selector stands for; None if it is a function of its own."""
    owner = getattr(selector, "__self__", selector)
    if isinstance(owner, Field):
        return ColumnKey((owner,))
    return owner if isinstance(owner, ColumnKey) else None


def layout_for(method: str, type_info: TypeInformation | None) -> ColumnLayout:
    """The columns of a stream.

    Raises:
        ProgramError: its type is not declared, or does not map to columns.
    """
    if type_info is None:
        raise ProgramError(
            f"{method}: the type of the stream is not known, so it has no columns; declare it where its "
            f'records are made, such as output_type=Types.ROW_NAMED(["amount"], [Types.LONG()])'
        )
    layout = layout_of(type_info)
    if layout is None:
        raise ProgramError(
            f"{method}: the stream has the type {type_info!r}, which does not map to columns; map it to "
            f"rows, tuples or dataclasses of basic types first"
        )
    return layout


def position_of(method: str, layout: ColumnLayout, name: Name) -> int:
    """Where the column ``name`` is; ProgramError if there is none."""
    try:
        return layout.position(name)
    except KeyError:
        raise ProgramError(
            f"{method}: there is no column {name!r} in {layout.type_info!r}; "
            f"its columns are {list(layout.names)!r}"
        ) from None


def times_of(column: pa.Array) -> TimeColumn:
    """Event times out of a column: whole numbers are milliseconds since 1970, timestamps are themselves."""
    if column.null_count:
        raise ValueError(
            f"the column of event times has {column.null_count} nulls; expected a time in every record"
        )
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if pa.types.is_timestamp(column.type):
        numbers = column.cast(pa.int64()).to_numpy()
        # Floored, also before 1970: a cast would round towards it.
        return TimeColumn(
            numbers * _MORE.get(column.type.unit, 1) // _LESS.get(column.type.unit, 1)
        )
    if not pa.types.is_integer(column.type):
        raise TypeError(
            f"the column of event times is {column.type}; expected whole numbers (milliseconds since "
            f"1970) or timestamps"
        )
    return TimeColumn(column.cast(pa.int64()).to_numpy())


def millis_of(value: Any) -> Any:
    """The event time that a value of a column stands for."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        since = aware - _EPOCH
        return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
    if isinstance(value, date):
        return (value - _EPOCH.date()).days * 86_400_000
    return value


def _expression(value: Any) -> Column:
    return value if isinstance(value, Column) else Literal(value)


def _getter(record: Any, name: Name, declared: int | None) -> Callable[[Any], Any]:
    position = name if isinstance(name, int) else _position(name)
    if isinstance(record, Row):
        return _of_rows(name, position if declared is None else declared)
    names: tuple[str, ...] = getattr(record, "_fields", ())
    if isinstance(record, tuple) and name not in names and position is not None:
        return operator.itemgetter(position)
    if dataclasses.is_dataclass(record):
        names = tuple(field.name for field in dataclasses.fields(record))
    if isinstance(name, int) and 0 <= name < len(names):
        return operator.attrgetter(names[name])
    if isinstance(name, str) and name in names:
        return operator.attrgetter(name)
    if name in ("value", 0) and not names and not isinstance(record, tuple):
        return _itself
    raise TypeError(
        f"col({name!r}): a record of class {type(record).__name__} has no such column; "
        f"its columns are {list(names)!r}"
    )


def _of_rows(name: Name, position: int | None) -> Callable[[Any], Any]:
    """Rows of one stream may have names or not: those without have the names of their declared type."""

    def of_row(row: Row) -> Any:
        if position is None or (row._fields is not None and name in row._fields):
            return row[name]
        return row[position]

    return operator.itemgetter(name) if isinstance(name, int) else of_row


def _position(name: str) -> int | None:
    found = _POSITION.match(name)
    return None if found is None else int(found[1])


def _itself(record: Any) -> Any:
    return record


def _both(left: bool | None, right: bool | None) -> bool | None:  # noqa: FBT001
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _either(left: bool | None, right: bool | None) -> bool | None:  # noqa: FBT001
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


_COLUMNS: Final[Mapping[str, str]] = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "+": "add_checked",
    "-": "subtract_checked",
    "*": "multiply_checked",
    "/": "divide",
    "&": "and_kleene",
    "|": "or_kleene",
    "~": "invert",
    "is_null": "is_null",
}
"""Names in pyarrow.compute, which takes long to load and is loaded where it is used."""
_RECORDS: Final[Mapping[str, Callable[..., Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "~": operator.not_,
}
_WITH_NULLS: Final[Mapping[str, Callable[..., Any]]] = {
    "&": _both,
    "|": _either,
    "is_null": lambda value: value is None,
}
_MORE: Final = {"s": 1000}
_LESS: Final = {"us": 1000, "ns": 1_000_000}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
