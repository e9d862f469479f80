"""Parquet and ORC files, written a group of rows at a time from columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from riverrun.api.serialization import RowDataBulkWriterFactory
from riverrun.connectors.files.output_formats import BulkWriter
from riverrun.connectors.formats.avro_schema import AvroSchema, row_type_of_avro
from riverrun.core.errors import ConfigError
from riverrun.serde.arrow_schemas import type_of_schema
from riverrun.serde.columns import ColumnLayout, ColumnRun, layout_of
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation

__all__ = ["AvroParquetWriters", "ColumnarWriterFactory", "OrcBulkWriters", "ParquetBulkWriters"]

GROUP_ROWS: Final = 1 << 17
GROUP_BYTES: Final = 64 << 20


class ParquetBulkWriters:
    """Factories for Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: TypeInformation | pa.Schema,
        hadoop_config: Any = None,
        utc_timestamp: bool = False,  # noqa: FBT001, FBT002  (PyFlink's)
        *,
        compression: str = "snappy",
        options: Mapping[str, Any] | None = None,
    ) -> ColumnarWriterFactory:
        """Files with a column for each field of ``row_type``.

        Args:
            row_type: a type with fields such as ``Types.ROW_NAMED(...)``, or an Arrow schema.
            hadoop_config: has no meaning here and must be left out.
            utc_timestamp: timestamps are written as they are in any case.
            compression: of the pages: ``snappy``, ``zstd``, ``gzip``, ``lz4``, ``brotli`` or ``none``.
            options: more for pyarrow's ParquetWriter.
        """
        del utc_timestamp
        _without_hadoop("ParquetBulkWriters", hadoop_config)
        return ColumnarWriterFactory(
            "parquet", row_type, {"compression": compression, **(options or {})}
        )


class AvroParquetWriters:
    """Factories for Parquet files whose columns an Avro schema describes."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> ColumnarWriterFactory:
        """Files of records that are dicts or rows with the fields of ``schema``."""
        return ColumnarWriterFactory("parquet", row_type_of_avro(schema), {"compression": "snappy"})


class OrcBulkWriters:
    """Factories for ORC files."""

    @staticmethod
    def for_row_type(
        row_type: TypeInformation | pa.Schema,
        writer_properties: Mapping[str, Any] | None = None,
        hadoop_config: Any = None,
    ) -> ColumnarWriterFactory:
        """Files with a column for each field; ``writer_properties`` are those of pyarrow's ORCWriter."""
        _without_hadoop("OrcBulkWriters", hadoop_config)
        return ColumnarWriterFactory("orc", row_type, dict(writer_properties or {}))


class ColumnarWriterFactory(RowDataBulkWriterFactory):
    """Makes writers of files of columns."""

    def __init__(
        self, kind: str, row_type: TypeInformation | pa.Schema, options: Mapping[str, Any]
    ) -> None:
        self._schema = row_type if isinstance(row_type, pa.Schema) else None
        type_info = type_of_schema(row_type) if isinstance(row_type, pa.Schema) else row_type
        if not isinstance(type_info, TypeInformation) or layout_of(type_info) is None:
            raise ConfigError(
                f"{kind} files: the type of the records is {row_type!r}, which does not map to columns; "
                f"expected Types.ROW_NAMED(...) of basic types, or a pyarrow Schema"
            )
        super().__init__(type_info)
        self.kind = kind
        self.options = dict(options)

    def create(self, file: Any) -> BulkWriter:
        layout = layout_of(self.get_row_type())
        assert layout is not None  # noqa: S101  (asked when the program was built)
        return _ColumnarWriter(_rows_schema(layout), self._schema, layout, self._open(file, layout))

    def _open(self, file: Any, layout: ColumnLayout) -> Any:
        schema = self._schema or _rows_schema(layout)
        return open_columnar(self.kind, file, schema, self.options)


def open_columnar(kind: str, file: Any, schema: pa.Schema, options: Mapping[str, Any]) -> Any:
    """Something with ``write_table`` and ``close`` that writes files of ``kind`` to ``file``."""
    # Most sinks need neither, and each takes a while to load.
    if kind == "parquet":
        from pyarrow import parquet  # noqa: PLC0415

        return parquet.ParquetWriter(file, schema, **options)
    from pyarrow import orc  # noqa: PLC0415

    return _Orc(orc.ORCWriter(file, **options), schema)


def abandon_columnar(writer: Any) -> None:
    """Let go of what ``open_columnar`` gave: pyarrow's writers write on when they are collected."""
    (writer.inner if isinstance(writer, _Orc) else writer).is_open = False


class _Orc:
    def __init__(self, writer: Any, schema: pa.Schema) -> None:
        self.inner = writer
        self._schema = schema
        self._empty = True

    def write_table(self, table: pa.Table) -> None:
        self.inner.write(table)
        self._empty = False

    def close(self) -> None:
        if self._empty:
            self.inner.write(self._schema.empty_table())
        self.inner.close()


class _ColumnarWriter(BulkWriter):
    """Batches gather until they are enough for a group of rows."""

    def __init__(
        self, own: pa.Schema, wanted: pa.Schema | None, layout: ColumnLayout, writer: Any
    ) -> None:
        self._own = own
        self._wanted = wanted
        self._layout = layout
        self._writer = writer
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self.buffered = 0

    def add_element(self, element: Any) -> None:
        self.add_run([element])

    def add_run(self, values: Sequence[Any]) -> None:
        batch = self._batch(values)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self.buffered += batch.nbytes
        if self._rows >= GROUP_ROWS or self.buffered >= GROUP_BYTES:
            self._write()

    def finish(self) -> None:
        self._write()
        self._writer.close()

    def abandon(self) -> None:
        abandon_columnar(self._writer)

    def _batch(self, values: Sequence[Any]) -> pa.RecordBatch:
        names = list(self._layout.names)
        if isinstance(values, ColumnRun) and list(values.layout.names) == names:
            batch = values.batch.select(names)
            if batch.schema.equals(self._own):
                return batch
        if values and isinstance(values[0], dict):
            values = [Row(**value) for value in values]
        return self._layout.run_of(values).batch.select(names)

    def _write(self) -> None:
        if not self._batches:
            return
        # Many small pieces of a column take up to twice as long to write as one.
        table = pa.Table.from_batches(self._batches).combine_chunks()
        if self._wanted is not None and not table.schema.equals(self._wanted):
            table = table.cast(self._wanted)
        self._writer.write_table(table)
        self._batches.clear()
        self._rows = self.buffered = 0


def _rows_schema(layout: ColumnLayout) -> pa.Schema:
    """The columns of the fields, without that of the kind of rows."""
    return pa.schema([layout.schema.field(place) for place in range(len(layout.names))])


def _without_hadoop(who: str, hadoop_config: Any) -> None:
    if hadoop_config is not None:
        raise ConfigError(
            f"{who}: a Hadoop configuration has no meaning here; leave it out, and see compression and "
            f"options"
        )
