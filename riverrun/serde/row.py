"""Rows: values by position or by name, with the kind of change they stand for.

The behaviour is PyFlink's ``pyflink.common.types``. A row is mutable, as there; do not change a row
after it was used as a key.
"""

# ruff: noqa: SLF001 - the functions below the class fill and read its slots in bulk

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NoReturn

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """The change that a row makes to the table that its stream describes."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT[self.value]

    def to_j_row_kind(self) -> NoReturn:
        """Refuse: PyFlink's door to the JVM, which riverrun does not have."""
        raise NotImplementedError(f"{self!r} has no JVM counterpart: riverrun has no JVM types")


_SHORT = ("+I", "-U", "+U", "-D")


class Row:
    """Values by position, and by name where the fields have names.

    >>> row = Row(name="Alice", age=11)
    >>> row, row["name"], row.age, row[1], "name" in row
    (Row(name='Alice', age=11), 'Alice', 11, 11, True)

    A row of names is also a factory of rows with these names:

    >>> Person = Row("name", "age")
    >>> Person
    <Row('name', 'age')>
    >>> Person("Bob", 7)
    Row(name='Bob', age=7)

    Rows are equal when kind, names and values are; the order of named fields does not matter.
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: tuple[str, ...] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("a row takes either positional or named values, found both")
        if kwargs:
            self._fields = tuple(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = RowKind.INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> "Row":
        """A row of the given kind; the other arguments are those of the constructor."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - PyFlink's
        """The values by field name; ``recursive`` also turns rows inside rows, lists and dicts."""
        if self._fields is None:
            raise TypeError(f"{self!r} has no field names, so it cannot become a dict")
        values = map(_plain, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """The kind of change, INSERT unless it was set."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Sequence[str] | None) -> None:
        """Name the fields, in the order of the values; None takes the names away."""
        self._fields = None if field_names is None else tuple(field_names)

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values of the named fields in the order of ``names``.

        A row without field names gives all its values, whatever the names.
        """
        fields = self._fields
        if fields is None or fields == tuple(names):
            return self._values
        unknown = [name for name in names if name not in fields]
        if unknown:
            raise ValueError(f"the row has no fields {unknown}, it has {list(fields)}")
        return [self._values[fields.index(name)] for name in names]

    def __call__(self, *args: Any) -> "Row":
        """A row with these values, whose field names are the values of this row."""
        if len(args) > len(self._values):
            raise ValueError(f"{self!r} names {len(self)} fields, found {len(args)} values: {args}")
        row = Row(*args)
        row._fields = tuple(self._values)
        row._row_kind = self._row_kind
        return row

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __getitem__(self, item: int | slice | str) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        if self._fields is None:
            raise AttributeError(f"the row has no field names, so it has no field {item!r}")
        if item not in self._fields:
            raise ValueError(item)
        try:
            return self._values[self._fields.index(item)]
        except IndexError:
            raise KeyError(item) from None

    def __setitem__(self, key: int | slice | str, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
            return
        if self._fields is None:
            raise KeyError(key)
        if key not in self._fields:
            raise ValueError(key)
        try:
            self._values[self._fields.index(key)] = value
        except IndexError:
            raise KeyError(key) from None

    def __getattr__(self, item: str) -> Any:
        # Copy and pickle ask for names with underscores before the slots are filled.
        if item.startswith("_") or self._fields is None or item not in self._fields:
            raise AttributeError(item)
        try:
            return self._values[self._fields.index(item)]
        except IndexError:
            raise AttributeError(item) from None

    def __reduce__(self) -> tuple[Any, ...]:
        # The kind is left out when it is INSERT: an enum member costs more to pickle than the rest.
        if self._row_kind is RowKind.INSERT:
            return _row_of, (self._fields, tuple(self._values))
        return _row_of, (self._fields, tuple(self._values), self._row_kind.value)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        named = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in named)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self.__class__ is not other.__class__:
            return False
        if self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None:
            return False
        return sorted(self._fields) == sorted(other._fields) and self._by_name() == other._by_name()

    def __hash__(self) -> int:
        return hash(tuple(self._values if self._fields is None else self._by_name()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _by_name(self) -> list[Any]:
        """The values in the order of the sorted field names: the same for equal rows."""
        named: dict[str, Any] = dict(zip(self._fields or (), self._values, strict=False))
        return [named[name] for name in sorted(named)]


def rows_of(
    names: tuple[str, ...] | None, values: Iterable[list[Any]], kinds: Iterable[int]
) -> list[Row]:
    """Rows of these field names from value lists, which they keep, and the values of their kinds."""
    rows = []
    new = Row.__new__
    for row_values, kind in zip(values, kinds, strict=False):
        row = new(Row)
        row._fields = names
        row._values = row_values
        row._row_kind = _KINDS[kind]
        rows.append(row)
    return rows


def values_of(rows: Sequence[Row], names: tuple[str, ...] | None) -> list[list[Any]]:
    """The value lists of rows, each in the order of ``names``.

    A row without names counts by position. Raises ValueError when a row has other names, and also
    when it has names but ``names`` is None.
    """
    named = {row._fields for row in rows}
    if named <= {None, names}:
        return [row._values for row in rows]
    wanted = None if names is None else sorted(names)
    for found in named:
        if found is not None and (wanted is None or sorted(found) != wanted):
            raise ValueError(f"expected the field names {names}, found {found}")
    return [row.get_fields_by_names(names or ()) for row in rows]


def names_of(row: Row) -> tuple[str, ...] | None:
    """The field names of a row, or None when it has none."""
    return row._fields


def row_attributes(
    names: tuple[str, ...] | None,
) -> tuple[str, tuple[tuple[str, Any, Any], ...]]:
    """The attribute of an INSERT row that has the values, and the others: name, value, and what stands for it."""
    return "_values", (("_fields", names, None), ("_row_kind", RowKind.INSERT, RowKind.INSERT))


def sorted_by_name(row: Row) -> tuple[tuple[str, ...] | None, list[Any]]:
    """The names and values of a row in the order of the names; as they stand without names."""
    if row._fields is None:
        return None, row._values
    return tuple(sorted(row._fields)), row._by_name()


def kinds_of(rows: Sequence[Row]) -> Sequence[int]:
    """The values of the kinds of the rows."""
    kinds = [row._row_kind for row in rows]
    if kinds.count(RowKind.INSERT) == len(kinds):
        return bytes(len(kinds))
    return [kind.value for kind in kinds]


def _row_of(fields: tuple[str, ...] | None, values: tuple[Any, ...], kind: int = 0) -> Row:
    row = Row.__new__(Row)
    row._fields = fields
    row._values = list(values)
    row._row_kind = _KINDS[kind]
    return row


_KINDS = tuple(RowKind)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
