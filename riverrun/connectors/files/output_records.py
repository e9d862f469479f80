"""Avro and CSV files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riverrun.api.serialization import BulkWriterFactory
from riverrun.connectors.base.extras import require
from riverrun.connectors.files.output_formats import BulkWriter
from riverrun.connectors.formats.avro_schema import AvroSchema, row_type_of_avro
from riverrun.connectors.formats.avro_values import records_from
from riverrun.connectors.formats.csv_output import CsvLines
from riverrun.connectors.formats.csv_schema import CsvSchema
from riverrun.core.errors import ConfigError

__all__ = ["AvroBulkWriters", "AvroWriterFactory", "CsvBulkWriters", "CsvWriterFactory"]

_CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")


class AvroBulkWriters:
    """Factories for Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema, *, codec: str = "deflate") -> AvroWriterFactory:
        """Files of records that are dicts, rows or tuples with the fields of ``schema``."""
        return AvroWriterFactory(schema, codec)


class AvroWriterFactory(BulkWriterFactory):
    """Makes writers of Avro files."""

    def __init__(self, schema: AvroSchema, codec: str) -> None:
        require("fastavro", extra="avro", user="AvroBulkWriters")
        if codec not in _CODECS:
            raise ConfigError(f"avro files: the codec is {codec!r}; expected one of {_CODECS}")
        self.schema = schema if isinstance(schema, AvroSchema) else AvroSchema.parse_string(schema)
        self.codec = codec

    def create(self, file: Any) -> BulkWriter:
        return _AvroWriter(file, self.schema, self.codec)


class _AvroWriter(BulkWriter):
    def __init__(self, file: Any, schema: AvroSchema, codec: str) -> None:
        fastavro = require("fastavro", extra="avro", user="AvroBulkWriters")
        self._record: Callable[[Any], Any] = records_from(row_type_of_avro(schema))
        self._writer = fastavro.write.Writer(file, schema.parsed, codec=codec)

    def add_element(self, element: Any) -> None:
        self._writer.write(self._record(element))

    def add_run(self, values: Sequence[Any]) -> None:
        record, write = self._record, self._writer.write
        for value in values:
            write(record(value))

    def finish(self) -> None:
        self._writer.flush()


class CsvBulkWriters:
    """Factories for CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvWriterFactory:
        """Files of rows, with a line of names first where the schema says so."""
        return CsvWriterFactory(schema)


class CsvWriterFactory(BulkWriterFactory):
    """Makes writers of CSV files."""

    def __init__(self, schema: CsvSchema) -> None:
        if not isinstance(schema, CsvSchema):
            raise TypeError(f"csv files: got {schema!r}; expected a CsvSchema")
        self.schema = schema
        CsvLines(schema.row_type, schema.dialect)  # refuses what cannot be written

    @property
    def has_header(self) -> bool:
        """Whether a file begins with the names of its columns."""
        return self.schema.use_header

    def create(self, file: Any) -> BulkWriter:
        return _CsvWriter(file, self.schema)


class _CsvWriter(BulkWriter):
    def __init__(self, file: Any, schema: CsvSchema) -> None:
        self._file = file
        self._end = schema.dialect.line_end
        self._line = CsvLines(schema.row_type, schema.dialect).line
        if schema.use_header:
            names = schema.row_type.get_field_names()
            file.write((schema.dialect.delimiter.join(names) + self._end).encode())

    def add_element(self, element: Any) -> None:
        self.add_run([element])

    def add_run(self, values: Sequence[Any]) -> None:
        line, end = self._line, self._end
        self._file.write("".join([line(value) + end for value in values]).encode())

    def finish(self) -> None:
        """Nothing is left."""
