"""The columns of a state's table: by declared types, by what all values are, or pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from riverrun.core.short_repr import short_repr
from riverrun.serde.arrow_columns import NumberColumn, StringColumn
from riverrun.state.parquet.cells import PickleColumn, pickle_of
from riverrun.state.parquet.columns import GROUP, STRAYS, Rows
from riverrun.state.parquet.parts import ENCODING, PICKLE, PLAIN, Part, Strays
from riverrun.state_processor.inference import Shape

SUBTASK: Final = "subtask"
"""Of operator state: who held the row."""
INFERRED: Final = "inferred"
"""The encoding of a column whose type was found by looking at its values."""
TEXT_OF: Final = "_text"
"""What follows the name of a pickled column in the name of the column that shows it."""
OURS: Final = frozenset({GROUP, SUBTASK, "time", "last_used"})
"""Columns whose values are riverrun's own."""


class TableColumn(Protocol):
    """One or two columns of a table, made of one list of values."""

    fields: Sequence[pa.Field]

    def encode(self, values: list[Any]) -> tuple[list[pa.Array], Strays]:
        """The arrays of ``fields``, and values that they do not hold exactly, by row."""
        ...


class DeclaredColumn:
    """Values as the files of savepoints have them."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.fields: Sequence[pa.Field] = [part.field]
        self.has_strays = part.name not in OURS

    def encode(self, values: list[Any]) -> tuple[list[pa.Array], Strays]:
        array, strays = self._part.encode(values)
        return [array], strays


class InferredColumn:
    """Values that were all looked at before."""

    def __init__(self, name: str, shape: Shape, arrow_type: pa.DataType) -> None:
        self._type = arrow_type
        self._convert = shape.converter()
        self.fields: Sequence[pa.Field] = [
            pa.field(name, arrow_type, metadata={ENCODING: INFERRED.encode()})
        ]

    def encode(self, values: list[Any]) -> tuple[list[pa.Array], Strays]:
        convert = self._convert
        shown = values
        if convert is not None:
            shown = [None if value is None else convert(value) for value in values]
        return [_in_one(pa.array(shown, self._type))], {}


class PickledColumn:
    """Values of several kinds, or of kinds that Arrow has no type for; with a column that shows them."""

    def __init__(self, name: str, *, lists: bool = False) -> None:
        """``lists``: of each list, the elements are pickled."""
        self._lists = lists
        arrow_type = pa.list_(pa.binary()) if lists else pa.binary()
        self.fields: Sequence[pa.Field] = [
            pa.field(name, arrow_type, metadata={ENCODING: PICKLE.encode()}),
            pa.field(f"{name}{TEXT_OF}", pa.string(), metadata={ENCODING: PLAIN.encode()}),
        ]

    def encode(self, values: list[Any]) -> tuple[list[pa.Array], Strays]:
        if self._lists:
            lists = [[pickle_of(element) for element in elements] for elements in values]
            pickles = _in_one(pa.array(lists, self.fields[0].type))
        else:
            pickles = PickleColumn().to_array(values)
        # A repr may have what UTF-8 has no form for.
        texts = [short_repr(each).encode(errors="backslashreplace").decode() for each in values]
        return [pickles, StringColumn().to_array(texts)], {}


class TableColumns:
    """All columns of a table."""

    def __init__(self, columns: Mapping[str, TableColumn]) -> None:
        """``columns`` are by the name that the rows have for their values."""
        self._columns = columns
        self._strays = any(
            isinstance(column, DeclaredColumn) and column.has_strays for column in columns.values()
        )
        fields = [field for column in columns.values() for field in column.fields]
        if self._strays:
            fields.append(pa.field(STRAYS, pa.binary(), metadata={ENCODING: PICKLE.encode()}))
        self.schema = pa.schema(fields)
        self.as_in_files = all(isinstance(column, DeclaredColumn) for column in columns.values())
        """Whether each column is what a file of a savepoint has."""

    def batch(self, rows: Rows) -> pa.RecordBatch:
        """The rows as columns."""
        arrays: list[pa.Array] = []
        by_row: dict[int, dict[str, Any]] = {}
        for name, column in self._columns.items():
            made, strays = column.encode(rows[name])
            arrays += made
            for row, value in strays.items():
                by_row.setdefault(row, {})[name] = value
        if self._strays:
            size = len(arrays[0])
            pickles = [pickle_of(by_row[row]) if row in by_row else None for row in range(size)]
            arrays.append(pa.array(pickles, pa.binary()))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def subtask_part() -> Part:
    """The column that says who held a row of operator state."""
    return Part(SUBTASK, NumberColumn("i", pa.int32()), PLAIN)


def _in_one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
