"""Types of values with fields: rows, tuples, named tuples and dataclasses; and of optional values.

Fields may be None in each of them. A value as a whole may only be None where its type is basic or
`OptionalTypeInfo`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from riverrun.serde.row import Row, RowKind, names_of
from riverrun.serde.type_info import TypeInformation, types_of

__all__ = [
    "DataclassTypeInfo",
    "ExternalTypeInfo",
    "NamedTupleTypeInfo",
    "OptionalTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]


@dataclass(frozen=True, repr=False)
class RowTypeInfo(TypeInformation):
    """Rows whose fields have these types, and these names where names are given.

    A stream of a named row type takes rows that have exactly these names, in any order, and rows
    without names, whose values then count by position; what arrives after an exchange has the names
    in this order.
    """

    field_types: Sequence[TypeInformation]
    field_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        types = types_of("a row type", self.field_types)
        object.__setattr__(self, "field_types", types)
        if self.field_names is None:
            return
        names = tuple(self.field_names)
        if len(names) != len(types) or len(set(names)) != len(names):
            raise ValueError(
                f"a named row type needs one name of its own a field, found the names "
                f"{list(names)} for {len(types)} field types"
            )
        object.__setattr__(self, "field_names", names)

    def get_field_names(self) -> list[str]:
        """The names; f0, f1 and so on where none were given."""
        if self.field_names is None:
            return [f"f{position}" for position in range(len(self.field_types))]
        return list(self.field_names)

    def get_field_index(self, field_name: str) -> int:
        """The position of a field, or ValueError."""
        return self.get_field_names().index(field_name)

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, by position."""
        return list(self.field_types)

    def coerce(self, value: Any) -> Any:
        if value is None:
            return None
        values: Sequence[Any]
        names, kind = self.field_names, RowKind.INSERT
        if isinstance(value, Row):
            values, kind = self._in_order(value), value.get_row_kind()
            names = names_of(value) if names is None else names
        elif isinstance(value, Mapping):
            values = [value.get(name) for name in self.get_field_names()]
        elif isinstance(value, (tuple, list)):
            values = value
        elif hasattr(value, "__dict__"):
            values = [getattr(value, name, None) for name in self.get_field_names()]
        else:
            return value
        if len(values) != len(self.field_types):
            return value
        row = Row(*(part.coerce(item) for part, item in zip(self.field_types, values, strict=True)))
        row.set_field_names(names)
        row.set_row_kind(kind)
        return row

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        row = self.coerce(obj)
        if row is None:
            return None
        if not isinstance(row, Row):
            raise ValueError(f"{self!r} cannot hold {obj!r}")  # noqa: TRY004 - as PyFlink
        parts = zip(self.field_types, row, strict=True)
        return (row.get_row_kind().value, *(part.to_internal_type(item) for part, item in parts))

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        kind, *values = obj
        parts = zip(self.field_types, values, strict=True)
        row = Row(*(part.from_internal_type(item) for part, item in parts))
        row.set_field_names(self.field_names)
        row.set_row_kind(RowKind(kind))
        return row

    def _in_order(self, row: Row) -> Sequence[Any]:
        named = self.field_names is not None and all(name in row for name in self.field_names)
        return row.get_fields_by_names(self.get_field_names()) if named else list(row)

    def __repr__(self) -> str:
        if self.field_names is None:
            return f"Types.ROW({list(self.field_types)!r})"
        return f"Types.ROW_NAMED({list(self.field_names)!r}, {list(self.field_types)!r})"


@dataclass(frozen=True, repr=False)
class TupleTypeInfo(TypeInformation):
    """Tuples whose fields have these types."""

    field_types: Sequence[TypeInformation]

    def __post_init__(self) -> None:
        object.__setattr__(self, "field_types", types_of("a tuple type", self.field_types))

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, by position."""
        return list(self.field_types)

    def coerce(self, value: Any) -> Any:
        fits = isinstance(value, (tuple, list, Row)) and len(value) == len(self.field_types)
        if not fits:
            return value
        return tuple(part.coerce(item) for part, item in zip(self.field_types, value, strict=True))

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        if not isinstance(obj, (tuple, list, Row)):
            raise ValueError(f"{self!r} cannot hold {obj!r}")  # noqa: TRY004 - as PyFlink
        parts = zip(self.field_types, obj, strict=True)
        return tuple(part.to_internal_type(item) for part, item in parts)

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        parts = zip(self.field_types, obj, strict=True)
        return tuple(part.from_internal_type(item) for part, item in parts)

    def __repr__(self) -> str:
        return f"Types.TUPLE({list(self.field_types)!r})"


@dataclass(frozen=True, repr=False)
class NamedTupleTypeInfo(TypeInformation):
    """Instances of a ``NamedTuple`` class whose fields have these types."""

    cls: type[Any]
    field_types: Sequence[TypeInformation]

    def __post_init__(self) -> None:
        _set_field_types(self, self.cls, self.get_field_names(), self.field_types)

    def get_field_names(self) -> list[str]:
        """The names, in the order of the class."""
        return list(getattr(self.cls, "_fields", ()))

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, by position."""
        return list(self.field_types)

    def __repr__(self) -> str:
        return f"NamedTupleTypeInfo({self.cls.__qualname__}, {list(self.field_types)!r})"


@dataclass(frozen=True, repr=False)
class DataclassTypeInfo(TypeInformation):
    """Instances of a dataclass whose fields have these types, in the order of the class."""

    cls: type[Any]
    field_types: Sequence[TypeInformation]

    def __post_init__(self) -> None:
        if not is_dataclass(self.cls):
            raise TypeError(f"a dataclass type needs a dataclass, found {self.cls!r}")
        _set_field_types(self, self.cls, self.get_field_names(), self.field_types)

    def get_field_names(self) -> list[str]:
        """The names, in the order of the class."""
        return [field.name for field in fields(self.cls)]

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, by position."""
        return list(self.field_types)

    def __repr__(self) -> str:
        return f"DataclassTypeInfo({self.cls.__qualname__}, {list(self.field_types)!r})"


@dataclass(frozen=True, repr=False)
class OptionalTypeInfo(TypeInformation):
    """Values of a type, or None."""

    type_info: TypeInformation

    def __post_init__(self) -> None:
        types_of("an optional type", [self.type_info])

    def coerce(self, value: Any) -> Any:
        return None if value is None else self.type_info.coerce(value)

    def __repr__(self) -> str:
        return f"OptionalTypeInfo({self.type_info!r})"


@dataclass(frozen=True, repr=False)
class ExternalTypeInfo(TypeInformation):
    """A type as the Table API hands it out; the values are those of the type inside."""

    type_info: TypeInformation

    def __post_init__(self) -> None:
        types_of("an external type", [self.type_info])

    def coerce(self, value: Any) -> Any:
        return self.type_info.coerce(value)

    def __repr__(self) -> str:
        return f"ExternalTypeInfo({self.type_info!r})"


def _set_field_types(
    owner: TypeInformation, cls: type[Any], names: list[str], types: Sequence[TypeInformation]
) -> None:
    found = types_of(f"the type of {cls.__qualname__}", types)
    if len(found) != len(names):
        raise ValueError(
            f"{cls.__qualname__} has the fields {names}, found {len(found)} field types"
        )
    object.__setattr__(owner, "field_types", found)
