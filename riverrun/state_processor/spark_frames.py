"""A state as a Spark DataFrame that the executors read: nothing of it passes the driver.

Nothing here imports Spark; who calls it has a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from riverrun.core.errors import ProgramError
from riverrun.state_processor.columns import TableColumns
from riverrun.state_processor.sources import ANY_KEY, ItemSource, KeyedSource, RowSource
from riverrun.storage.blobs import FileRef


class NoSparkType(ProgramError):  # noqa: N818
    """A column has a type that Spark does not know."""

    def __init__(self, state: str, column: str, arrow_type: str) -> None:
        super().__init__(state, column, arrow_type)
        self.state, self.column, self.arrow_type = state, column, arrow_type

    def __str__(self) -> str:
        return (
            f"state {self.state!r}: column {self.column!r} has the type {self.arrow_type}, which Spark has no "
            f"type for; read it with to_arrow or batches"
        )


def spark_frame(
    session: Any,
    source: RowSource,
    columns: TableColumns,
    batches: Callable[[RowSource], Iterator[pa.RecordBatch]],
) -> Any:
    """The rows of ``source`` as a DataFrame.

    The files of a savepoint are read by Spark itself where their columns are those of the table; else each
    subtask's part of the state is read by a task of Spark's.

    Args:
        session: the SparkSession.
        source: where the rows are.
        columns: what they become.
        batches: what makes the batches of a part of the source.

    Raises:
        NoSparkType: a column has no type in Spark.
    """
    paths = _files(source) if columns.as_in_files else []
    if isinstance(source, KeyedSource) and paths:
        frame = session.read.parquet(*paths).select(*columns.schema.names)
        groups = source.groups
        return frame.where(f"key_group >= {groups.start} AND key_group < {groups.stop}")
    units = _units(source)
    fields = [_field(source.meta.name, field) for field in columns.schema]
    target = pa.schema([field for field, _ in fields])
    described = ", ".join(f"{_quoted(field.name)} {text}" for field, text in fields)
    if not units:
        return session.createDataFrame([], described)
    numbers = session.range(0, len(units), 1, len(units))
    return numbers.mapInArrow(_UnitReader(units, target, batches), described)


class _UnitReader:
    """Reads, in a task of Spark's, the parts of a state that it is given the numbers of."""

    def __init__(
        self,
        units: list[RowSource],
        target: pa.Schema,
        batches: Callable[[RowSource], Iterator[pa.RecordBatch]],
    ) -> None:
        self._units = units
        self._target = target
        self._batches = batches

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for some in numbers:
            for number in some.column(0).to_pylist():
                for batch in self._batches(self._units[number]):
                    arrays = [
                        array.cast(field.type)
                        for array, field in zip(batch.columns, self._target, strict=True)
                    ]
                    yield pa.RecordBatch.from_arrays(arrays, schema=self._target)


def _files(source: RowSource) -> list[str]:
    """The files of a savepoint that hold all of the state, if there are such."""
    if not isinstance(source, KeyedSource) or source.key is not ANY_KEY:
        return []
    if any(snapshot.backend != "parquet" for snapshot in source.snapshots):
        return []
    parts = [part for snapshot in source.snapshots for part in snapshot.parts]
    blobs = [part.blob for part in parts if part.name == source.meta.name]
    paths = [blob.path for blob in blobs if isinstance(blob, FileRef)]
    return [path if "://" in path else f"file://{path}" for path in paths]


def _units(source: RowSource) -> list[RowSource]:
    """Parts that can be read apart: what each subtask wrote."""
    if isinstance(source, KeyedSource):
        return [
            replace(source, snapshots=[snapshot])
            for snapshot in source.snapshots
            if snapshot.first_group < source.groups.stop
            and snapshot.last_group >= source.groups.start
            and snapshot.parts
        ]
    if isinstance(source, ItemSource):
        return [replace(source, written=[part]) for part in source.written if part[1].items]
    return [source]


def _field(state: str, field: pa.Field) -> tuple[pa.Field, str]:
    found = _spark_type(field.type)
    if found is None:
        raise NoSparkType(state, field.name, str(field.type))
    return pa.field(field.name, found[0]), found[1]


def _spark_type(arrow_type: pa.DataType) -> tuple[pa.DataType, str] | None:
    """The Arrow type in which Spark takes the values, and Spark's name for it."""
    if arrow_type in _SIMPLE:
        return arrow_type, _SIMPLE[arrow_type]
    if pa.types.is_timestamp(arrow_type):
        if arrow_type.tz is None:
            return pa.timestamp("us"), "TIMESTAMP_NTZ"
        return pa.timestamp("us", tz="UTC"), "TIMESTAMP"
    if pa.types.is_decimal128(arrow_type):
        return arrow_type, f"DECIMAL({arrow_type.precision}, {arrow_type.scale})"
    if pa.types.is_nested(arrow_type):
        return _nested_type(arrow_type)
    return None


def _nested_type(arrow_type: pa.DataType) -> tuple[pa.DataType, str] | None:
    inner = [_spark_type(each.type) for each in _inner_fields(arrow_type)]
    found = [each for each in inner if each is not None]
    if len(found) < len(inner):
        return None
    if pa.types.is_map(arrow_type):
        (key, key_text), (item, item_text) = found
        return pa.map_(key, item), f"MAP<{key_text}, {item_text}>"
    if pa.types.is_list(arrow_type):
        return pa.list_(found[0][0]), f"ARRAY<{found[0][1]}>"
    names = [each.name for each in arrow_type]
    fields = [pa.field(name, kind) for name, (kind, _) in zip(names, found, strict=True)]
    texts = [f"{_quoted(name)}: {text}" for name, (_, text) in zip(names, found, strict=True)]
    return pa.struct(fields), f"STRUCT<{', '.join(texts)}>"


def _inner_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(arrow_type):
        return [arrow_type.key_field, arrow_type.item_field]
    if pa.types.is_list(arrow_type):
        return [arrow_type.value_field]
    return list(arrow_type)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


_SIMPLE: Final[Mapping[pa.DataType, str]] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.duration("us"): "INTERVAL DAY TO SECOND",
}
