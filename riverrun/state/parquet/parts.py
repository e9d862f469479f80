"""One column of a file with the rules for what goes into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeAlias

import pyarrow as pa

from riverrun.serde.arrow_columns import Column
from riverrun.serde.arrow_nested import ListColumn
from riverrun.serde.check import checker_for, takes_none
from riverrun.serde.columns import CONVERSION_ERRORS
from riverrun.serde.type_info import TypeInformation
from riverrun.state.parquet.cells import PickleColumn
from riverrun.state.parquet.types import column_for, plain_column_for

Check: TypeAlias = Callable[[Sequence[Any]], None]
Strays: TypeAlias = dict[int, Any]
"""Values that a column does not hold exactly, by their row."""

ENCODING: Final = b"riverrun.encoding"
"""The key of a field's metadata that says what its values are."""
TYPED: Final = "typed"
"""By the type that the state's meta names."""
PLAIN: Final = "plain"
"""What the column shows: text, numbers, booleans, bytes, tuples of these."""
PICKLE: Final = "pickle"
"""A pickle of each value."""


@dataclass(frozen=True, slots=True)
class Part:
    """A column by its name."""

    name: str
    column: Column
    encoding: str
    check: Check | None = None
    """Raises TypeMismatch for values that must not be there at all."""
    coerce: Callable[[Any], Any] | None = None
    none: bool = True
    """Whether None counts as a value of the type."""

    @property
    def field(self) -> pa.Field:
        """The column in the schema of a file."""
        return pa.field(
            self.name, self.column.arrow_type, metadata={ENCODING: self.encoding.encode()}
        )

    def encode(self, values: Sequence[Any]) -> tuple[pa.Array, Strays]:
        """The column, null where a value is a stray, and the strays.

        Raises:
            TypeMismatch: a value is not of the declared type.
        """
        try:
            array = self.column.to_array(values)
        except CONVERSION_ERRORS:
            if self.check is not None:
                self.check(values)
            return self._without_strays(values)
        if array.null_count and not self.none and self.check is not None:
            self.check(values)
        return array, {}

    def _without_strays(self, values: Sequence[Any]) -> tuple[pa.Array, Strays]:
        coerce = self.coerce
        strays = {
            row: value if coerce is None else coerce(value)
            for row, value in enumerate(values)
            if not self._holds(value)
        }
        rest = [None if row in strays else value for row, value in enumerate(values)]
        return self.column.to_array(rest), strays

    def _holds(self, value: Any) -> bool:
        try:
            self.column.to_array([value])
        except CONVERSION_ERRORS:
            return False
        return True


def address_part(
    name: str, type_info: TypeInformation | None, sample: Sequence[Any], *, windows: bool = False
) -> Part:
    """The column of what entries are found by.

    The type of a key is a hint of the program: a key that does not fit is a key all the same.
    Without a type the column is what all of the ``sample`` plainly are.
    """
    if type_info is not None:
        return Part(name, column_for(type_info), TYPED)
    plain = plain_column_for(sample, windows=windows)
    return Part(name, PickleColumn(), PICKLE) if plain is None else Part(name, plain, PLAIN)


def map_key_part(name: str, type_info: TypeInformation | None, sample: Sequence[Any]) -> Part:
    """The column of the keys of maps, which must be of their type."""
    return value_part(name, type_info) if type_info else address_part(name, None, sample)


def value_part(name: str, type_info: TypeInformation | None) -> Part:
    """The column of values."""
    if type_info is None:
        return Part(name, PickleColumn(), PICKLE)
    return Part(
        name,
        column_for(type_info),
        TYPED,
        checker_for(type_info),
        type_info.coerce,
        none=takes_none(type_info),
    )


def list_part(name: str, type_info: TypeInformation | None) -> Part:
    """The column of lists of values."""
    if type_info is None:
        return Part(name, ListColumn(PickleColumn()), PICKLE)
    check, coerce = checker_for(type_info), type_info.coerce
    return Part(
        name,
        ListColumn(column_for(type_info)),
        TYPED,
        lambda lists: check(list(chain.from_iterable(lists))),
        lambda elements: [coerce(element) for element in elements],
    )
