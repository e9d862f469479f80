"""One state of a savepoint or checkpoint as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from riverrun.api.windows import TimeWindow
from riverrun.core.errors import ProgramError
from riverrun.serde.key_hash import KeyHashError, key_group
from riverrun.serde.type_info import TypeInformation
from riverrun.state.parquet.columns import STRAYS, Rows
from riverrun.state.parquet.parts import Part
from riverrun.state.schema import schema_from
from riverrun.state_processor.columns import (
    DeclaredColumn,
    InferredColumn,
    PickledColumn,
    TableColumn,
    TableColumns,
)
from riverrun.state_processor.inference import Shape
from riverrun.state_processor.kinds import TableKind
from riverrun.state_processor.sources import KeyedSource, RowSource
from riverrun.state_processor.spark_frames import spark_frame

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl

DataFrame: TypeAlias = Any
"""Spark's; this package does not know Spark."""
SparkSession: TypeAlias = Any

BATCH_ROWS: Final = 65_536
_STEP_ROWS: Final = 8192
"""Rows that are made columns together."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class StateTable:
    """The rows of a state, read when they are asked for, and never all at once unless that is asked for.

    Columns of keyed state are ``key_group``, ``key``, then ``time`` (of timers), ``namespace`` (of windows),
    the content (``value``, ``elements``, or ``map_key`` and ``map_value``) and ``last_used`` (with a time to
    live). Operator state has ``subtask`` and ``value``, broadcast state ``map_key`` and ``map_value``.
    """

    def __init__(self, operator: str, max_parallelism: int, source: RowSource) -> None:
        """Users call ``Savepoint.state``."""
        self.operator = operator
        """Uid or name of the operator."""
        self.max_parallelism = max_parallelism
        self.source = source
        """Where the rows come from, as they are stored."""

    @property
    def name(self) -> str:
        """The name of the state."""
        return self.source.meta.name

    @property
    def kind(self) -> TableKind:
        """What the state is."""
        return self.source.kind

    @property
    def types(self) -> Mapping[str, TypeInformation]:
        """Declared types by role: ``key``, ``value``, ``map_key``; a role that is left out was pickled."""
        schema = schema_from(self.source.meta)
        found = {"key": schema.key, "map_key": schema.map_key, "value": schema.value}
        return {role: each for role, each in found.items() if each is not None}

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names that ``rows`` uses, in order."""
        return self.source.names()

    @property
    def schema(self) -> pa.Schema:
        """The columns that ``batches`` gives.

        Where no type is declared all values are looked at, once: a column has a type that fits them all. If
        there is none it has pickles, and a column beside it, ``..._text``, shows them. The metadata of each
        field says which under ``riverrun.encoding``: typed, plain, inferred or pickle. In the column ``pickled``,
        nearly always null, is what the declared types have no exact form for.
        """
        return self._columns.schema

    def batches(self, batch_size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow batches of at most ``batch_size`` rows; memory does not grow with the state.

        Raises:
            StorageError: a file is missing or damaged.
            UnreadableValues: a value is of a class that cannot be imported here.
        """
        return _batches(self.source, self._columns, batch_size)

    def reader(self, batch_size: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """The same as a stream that Arrow, DuckDB and others take."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(batch_size))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Let every library that speaks Arrow's C interface read the table."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """All rows in memory; without the column ``pickled`` where it has nothing."""
        table = pa.Table.from_batches(self.batches(), self.schema)
        if STRAYS in table.column_names and table[STRAYS].null_count == table.num_rows:
            table = table.drop_columns([STRAYS])
        return table

    def to_pandas(self) -> pd.DataFrame:
        """All rows in memory."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All rows in memory.

        Raises:
            ProgramError: polars is not installed.
        """
        try:
            import polars  # noqa: PLC0415, ICN001  (an extra of the user's)
        except ImportError as error:
            raise ProgramError(
                f"state {self.name!r}: polars is not installed, so there is no frame of its; install it "
                f"with 'pip install polars', or use to_arrow or to_pandas"
            ) from error
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)  # noqa: S101  (a table gives no series)
        return frame

    def to_spark(self, session: SparkSession) -> DataFrame:
        """All rows as a DataFrame; the executors read the files, which they must be able to reach.

        Raises:
            NoSparkType: a column has no type in Spark.
        """
        columns = self._columns
        return spark_frame(
            session, self.source, columns, lambda part: _batches(part, columns, _STEP_ROWS)
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict of the Python objects that the program stored, by the names of the columns.

        Of a map there is a row for each entry. Time windows are ``TimeWindow``s, the time of last use is a
        ``datetime``.
        """
        names = self.column_names
        windows = "namespace" in names
        for rows in _sliced(self.source.rows(), _STEP_ROWS, names):
            if windows:
                rows["namespace"] = list(map(_window, rows["namespace"]))
            if "last_used" in rows:
                rows["last_used"] = list(map(_moments, rows["last_used"]))
            columns = [rows[name] for name in names]
            for values in zip(*columns, strict=True):
                yield dict(zip(names, values, strict=True))

    def count(self) -> int:
        """How many rows there are; all are read, a few at a time."""
        return sum(len(next(iter(rows.values()))) for rows in self.source.rows())

    def where_key(self, key: Any) -> StateTable:
        """The rows of one key; only files that can hold it are read, and only its key group in them.

        Raises:
            ProgramError: the state has no keys, or the value cannot be a key.
        """
        try:
            group = key_group(key, self.max_parallelism)
        except KeyHashError as error:
            raise ProgramError(f"state {self.name!r}: {error}") from error
        return self._narrowed(range(group, group + 1), key)

    def where_key_groups(self, groups: range | int) -> StateTable:
        """The rows of some key groups.

        Raises:
            ProgramError: the state has no keys.
        """
        wanted = range(groups, groups + 1) if isinstance(groups, int) else groups
        source = self._keyed()
        inside = range(max(wanted.start, source.groups.start), min(wanted.stop, source.groups.stop))
        return StateTable(self.operator, self.max_parallelism, source.narrowed(inside))

    @cached_property
    def _columns(self) -> TableColumns:
        parts = self.source.parts()
        shapes = self._shapes([name for name, part in parts.items() if part is None])
        return TableColumns({name: _column(name, parts[name], shapes) for name in parts})

    def _shapes(self, names: list[str]) -> dict[str, Shape]:
        shapes = {name: Shape(("start", "end") if name == "namespace" else None) for name in names}
        if names:
            for rows in _sliced(self.source.rows(), _STEP_ROWS, names):
                for name, shape in shapes.items():
                    shape.add(rows[name])
        return shapes

    def _narrowed(self, groups: range, key: Any) -> StateTable:
        return StateTable(self.operator, self.max_parallelism, self._keyed().narrowed(groups, key))

    def _keyed(self) -> KeyedSource:
        if not isinstance(self.source, KeyedSource):
            raise ProgramError(
                f"state {self.name!r} of operator {self.operator!r}: it is {self.kind} state, which has no "
                f"keys; read all of it"
            )
        return self.source


def _column(name: str, part: Part | None, shapes: Mapping[str, Shape]) -> TableColumn:
    if part is not None:
        return DeclaredColumn(part)
    shape, lists = shapes[name], name == "elements"
    found = shape.arrow_type()
    if found is None or (lists and not pa.types.is_list(found)):
        return PickledColumn(name, lists=lists)
    return InferredColumn(name, shape, found)


def _batches(source: RowSource, columns: TableColumns, batch_size: int) -> Iterator[pa.RecordBatch]:
    found = source.file_batches(columns.schema) if columns.as_in_files else None
    if found is None:
        step = min(batch_size, _STEP_ROWS)
        found = map(columns.batch, _sliced(source.rows(), step, source.names()))
    return _resized(found, batch_size)


def _sliced(found: Iterable[Rows], size: int, names: Sequence[str]) -> Iterator[Rows]:
    """The same rows, at most ``size`` at a time and where possible as many, of the columns ``names``."""
    waiting: Rows = {name: [] for name in names}
    count = 0
    for rows in found:
        more = len(next(iter(rows.values())))
        for name in names:
            # A subtask that wrote the state before it had a time to live has no such column.
            waiting[name] += rows[name] if name in rows else [None] * more
        count += more
        start = 0
        while count - start >= size:
            yield {name: column[start : start + size] for name, column in waiting.items()}
            start += size
        if start:
            waiting = {name: column[start:] for name, column in waiting.items()}
            count -= start
    if count:
        yield waiting


def _resized(found: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of ``size``; only the last is smaller."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in found:
        waiting.append(batch)
        count += batch.num_rows
        if count >= size:
            whole = pa.Table.from_batches(waiting)
            for start in range(0, count - count % size, size):
                yield _as_batch(whole.slice(start, size))
            rest = whole.slice(count - count % size)
            waiting, count = rest.to_batches(), rest.num_rows
    if count:
        yield _as_batch(pa.Table.from_batches(waiting))


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    if table.num_columns and table.column(0).num_chunks == 1:
        return table.to_batches()[0]
    return table.combine_chunks().to_batches()[0]


def _window(namespace: Any) -> Any:
    """A time window as the program knows it; what is none stays what it is."""
    if type(namespace) is tuple and list(map(type, namespace)) == [int, int]:
        return TimeWindow(*namespace)
    return namespace


def _moments(used: Any) -> Any:
    if isinstance(used, list):
        return list(map(_moments, used))
    return None if used is None else _EPOCH + timedelta(milliseconds=used)
