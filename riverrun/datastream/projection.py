"""The small functions behind ``project`` and the collecting of keyed streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riverrun.api.functions import MapFunction
from riverrun.api.resolve import Callable1
from riverrun.core.errors import ProgramError
from riverrun.serde.composite_types import RowTypeInfo, TupleTypeInfo
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types


class Projection(MapFunction):
    """Takes some fields of a tuple or row."""

    def __init__(self, indexes: Sequence[int], of: TypeInformation | None) -> None:
        self.indexes = tuple(indexes)
        self.names: list[str] | None = None
        if isinstance(of, RowTypeInfo):
            names = of.get_field_names()
            self.names = [names[index] for index in indexes]

    def map(self, value: Any) -> Any:
        fields = [value[index] for index in self.indexes]
        if self.names is None:
            return tuple(fields)
        row = Row(*fields)
        row.set_field_names(self.names)
        return row


class KeyAndValue(MapFunction):
    """Puts a record's key before it."""

    def __init__(self, key_selector: Callable1) -> None:
        self.key_selector = key_selector

    def map(self, value: Any) -> Row:
        return Row(f0=self.key_selector(value), f1=value)


def projected_type(of: TypeInformation | None, indexes: Sequence[int]) -> TypeInformation:
    """The type of records of type ``of`` with only these fields.

    Raises:
        ProgramError: the records have no fields by index, or not that many.
    """
    if not isinstance(of, TupleTypeInfo | RowTypeInfo):
        raise ProgramError(
            f"project: the stream's type is {of!r}; only streams of a tuple or row type can be "
            f"projected: declare it, such as output_type=Types.TUPLE([...])"
        )
    types = of.get_field_types()
    for index in indexes:
        if not 0 <= index < len(types):
            raise ProgramError(
                f"project: there is no field {index} in {of!r}; expected 0 to {len(types) - 1}"
            )
    chosen = [types[index] for index in indexes]
    if isinstance(of, TupleTypeInfo):
        return Types.TUPLE(chosen)
    names = of.get_field_names()
    return Types.ROW_NAMED([names[index] for index in indexes], chosen)
