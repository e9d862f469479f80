"""Parquet and ORC files: columns from the start, a row group (or stripe) at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import pyarrow as pa

from riverrun.connectors.base.split_reader import OpenSplit, SplitRun
from riverrun.connectors.files.paths import FileStore, location_of
from riverrun.connectors.files.source_formats import BulkFormat, FileUnreadable, Opening
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.connectors.formats.avro_schema import AvroSchema, row_type_of_avro
from riverrun.core.errors import ProgramError
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.column_views import ColumnMismatch, batch_from
from riverrun.serde.columns import ColumnLayout, ColumnRun, layout_of
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation

__all__ = ["AvroParquetReaders", "OrcColumnarRowInputFormat", "ParquetColumnarRowInputFormat"]


class ColumnarFormat(BulkFormat):
    """Rows of files that hold columns; only the columns of ``row_type`` are read.

    Args:
        row_type: the fields, by the names of the columns.
        is_case_sensitive: whether ``id`` and ``ID`` are different columns.
    """

    gives_columns: ClassVar[bool] = True

    def __init__(self, row_type: TypeInformation, *, is_case_sensitive: bool = True) -> None:
        layout = layout_of(row_type) if isinstance(row_type, TypeInformation) else None
        if not isinstance(row_type, RowTypeInfo) or layout is None:
            raise ProgramError(
                f"{type(self).__name__}: the type is {row_type!r}; expected rows of basic types, such as "
                f"Types.ROW_NAMED(['id'], [Types.LONG()])"
            )
        self._type = row_type
        self._is_case_sensitive = is_case_sensitive

    @abstractmethod
    def open_units(self, file: Any) -> Units:
        """The units of an open file."""

    def open_split(self, split: FileSplit, opening: Opening) -> OpenSplit[Any]:
        layout = layout_of(self._type)
        assert layout is not None  # noqa: S101  (asked when it was made)
        return _OpenUnits(split, self, layout, opening)

    def get_produced_type(self) -> TypeInformation:
        return self._type

    def columns_in(self, location: str, schema: pa.Schema) -> list[str]:
        """The file's own names of the columns; FileUnreadable if one is not there."""
        own = {name: name for name in schema.names}
        if not self._is_case_sensitive:
            own = {name.lower(): name for name in schema.names}
        wanted = [
            name if self._is_case_sensitive else name.lower()
            for name in self._type.get_field_names()
        ]
        missing = [name for name in wanted if name not in own]
        if missing:
            raise FileUnreadable(
                location, f"it has the columns {schema.names}; expected also {missing}"
            )
        return [own[name] for name in wanted]


class ParquetColumnarRowInputFormat(ColumnarFormat):
    """Rows of Parquet files, by PyFlink's name; ``hadoop_config`` must be left out.

    Runs are as long as the engine asks for; ``batch_size`` is taken for PyFlink's sake. Timestamps without
    a zone are read as they stand.
    """

    def __init__(
        self,
        row_type: TypeInformation,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,  # noqa: FBT001, FBT002
        is_case_sensitive: bool = True,  # noqa: FBT001, FBT002
    ) -> None:
        if hadoop_config is not None:
            raise ProgramError(
                f"parquet: got a Hadoop configuration {hadoop_config!r}, and there is no Hadoop here; "
                f"give the source its storage options instead"
            )
        del batch_size, is_utc_timestamp
        super().__init__(row_type, is_case_sensitive=is_case_sensitive)

    @staticmethod
    def like_file(path: str, storage_options: Any = None) -> ParquetColumnarRowInputFormat:
        """All columns that the file has; read now, where the program is built."""
        location, store = location_of(path), FileStore(storage_options)
        with store.open(location) as file:
            schema = _parquet_file(location, file).schema_arrow
        return ParquetColumnarRowInputFormat(type_of_schema(schema))

    def is_splittable(self, location: str) -> bool:
        del location
        return True

    def open_units(self, file: Any) -> Units:
        return _RowGroups(file)


class OrcColumnarRowInputFormat(ColumnarFormat):
    """Rows of ORC files."""

    def open_units(self, file: Any) -> Units:
        return _Stripes(file)


class AvroParquetReaders:
    """Parquet files that an Avro schema describes, by PyFlink's name."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> AvroParquetFormat:
        """Rows with the fields of the schema, which are also found by name: ``row["id"]``."""
        return AvroParquetFormat(row_type_of_avro(schema))


class AvroParquetFormat(ParquetColumnarRowInputFormat, StreamFormat):
    """Parquet for ``for_record_stream_format``, where PyFlink has it, and for ``for_bulk_file_format``."""


class Units(ABC):
    """The row groups or stripes of an open file."""

    schema: pa.Schema

    @abstractmethod
    def numbers(self, start: int, end: int) -> range:
        """Those that begin in a range of bytes."""

    @abstractmethod
    def read(self, number: int, columns: list[str]) -> pa.RecordBatch | pa.Table:
        """The columns of one of them."""


class _RowGroups(Units):
    def __init__(self, file: Any) -> None:
        # Loading it takes a while: only who reads Parquet pays.
        from pyarrow import parquet  # noqa: PLC0415

        self._file = parquet.ParquetFile(file, pre_buffer=True)
        self.schema = self._file.schema_arrow

    def numbers(self, start: int, end: int) -> range:
        metadata = self._file.metadata
        firsts = [
            _first_byte(metadata.row_group(number)) for number in range(metadata.num_row_groups)
        ]
        first = sum(1 for each in firsts if each < start)
        return range(first, first + sum(1 for each in firsts if start <= each < end))

    def read(self, number: int, columns: list[str]) -> pa.Table:
        return self._file.read_row_group(number, columns=columns, use_threads=False)


class _Stripes(Units):
    def __init__(self, file: Any) -> None:
        from pyarrow import orc  # noqa: PLC0415  (as for Parquet)

        self._file = orc.ORCFile(file)
        self.schema = self._file.schema

    def numbers(self, start: int, end: int) -> range:
        del start, end  # one reader reads the whole file
        return range(self._file.nstripes)

    def read(self, number: int, columns: list[str]) -> pa.RecordBatch:
        return self._file.read_stripe(number, columns=columns)


class _OpenUnits(OpenSplit[Any]):
    def __init__(
        self, split: FileSplit, reads: ColumnarFormat, layout: ColumnLayout, opening: Opening
    ) -> None:
        self._split = split
        self._layout = layout
        self._store = opening.store
        self._file = opening.store.open(split.location)
        try:
            self._units = reads.open_units(self._file)
            self._columns = reads.columns_in(split.location, self._units.schema)
            self._numbers = self._units.numbers(split.start, split.end)
        except FileUnreadable:
            self._file.close()
            raise
        except (pa.ArrowException, OSError) as error:
            self._file.close()
            raise FileUnreadable(
                split.location, f"it cannot be read as {type(reads).__name__} expects it: {error}"
            ) from error
        self._next = self._numbers.start if split.offset is None else split.offset
        self._given = split.skip
        self._run: ColumnRun | None = None

    def read(self, limit: int) -> SplitRun:
        if self._run is None and self._next < self._numbers.stop:
            self._run = self._read_unit()
        run = self._run
        if run is None:
            return SplitRun(finished=True)
        values = run[self._given : self._given + limit]
        self._given += len(values)
        if self._given >= len(run):
            self._next, self._given, self._run = self._next + 1, 0, None
        return SplitRun(values, finished=self._next >= self._numbers.stop)

    def split(self) -> FileSplit:
        return self._split.at(self._next, self._given)

    def close(self) -> None:
        self._file.close()

    def _read_unit(self) -> ColumnRun:
        location = self._split.location
        try:
            with self._store.reported("reading", location):
                found = self._units.read(self._next, self._columns)
            # The file's own order of columns comes out, whatever was asked for.
            named = found.select(self._columns).rename_columns(list(self._layout.names))
            return ColumnRun(self._layout, batch_from(self._layout, named))
        except ColumnMismatch as error:
            raise FileUnreadable(location, f"part {self._next}: {error}") from error


def _first_byte(group: Any) -> int:
    column = group.column(0)
    if column.has_dictionary_page and column.dictionary_page_offset:
        return int(min(column.dictionary_page_offset, column.data_page_offset))
    return int(column.data_page_offset)


def _parquet_file(location: str, file: Any) -> Any:
    from pyarrow import parquet  # noqa: PLC0415  (as above)

    try:
        return parquet.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise FileUnreadable(location, f"it is no Parquet file: {error}") from error
