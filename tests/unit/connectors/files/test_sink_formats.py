"""What is in the files that a sink writes."""

from __future__ import annotations

import gc
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
import zstandard
from pyarrow import orc, parquet

from riverrun.api.serialization import BulkWriterFactory, Encoder, SimpleStringSchema
from riverrun.api.sink import Sink, SinkWriterContext
from riverrun.connectors.files import output_columns
from riverrun.connectors.files.bucket_assigners import BucketAssigner
from riverrun.connectors.files.compaction_strategy import FileCompactor
from riverrun.connectors.files.output_columns import (
    AvroParquetWriters,
    OrcBulkWriters,
    ParquetBulkWriters,
)
from riverrun.connectors.files.output_records import AvroBulkWriters, CsvBulkWriters
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.connectors.formats.avro_schema import AvroSchema
from riverrun.connectors.formats.csv_rows import CsvRowSerializationSchema
from riverrun.connectors.formats.csv_schema import CsvSchema
from riverrun.connectors.formats.json_plain import JsonSerializationSchema
from riverrun.core.errors import ConfigError
from riverrun.serde.columns import layout_of
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.conformance.sink_run import SinkRun

ROW_TYPE = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
ROWS = [Row(id=1, name="Ann"), Row(id=2, name="B, C"), Row(id=3, name=None)]
AVRO = AvroSchema.parse_string(
    json.dumps(
        {
            "type": "record",
            "name": "Person",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "name", "type": ["null", "string"]},
            ],
        }
    )
)
DICTS = [row.as_dict() for row in ROWS]
BASE = BucketAssigner.base_path_bucket_assigner()


def written(sink: Sink[Any], folder: Path, *runs: Any) -> list[bytes]:
    """The files that come of the runs, each of which a checkpoint follows."""
    job = SinkRun(sink, 1)
    for number, run in enumerate(runs, 1):
        job.write(0, run)
        job.flush(end_of_input=number == len(runs))
        job.prepare(number)
        job.save(number)
        job.complete(number)
    job.close()
    return [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()]


def bulk(folder: Path, factory: BulkWriterFactory) -> FileSink:
    return FileSink.for_bulk_format(folder, factory).with_bucket_assigner(BASE).build()


def test_an_encoder_writes_what_it_makes_of_records(tmp_path: Path) -> None:
    sink = FileSink.for_row_format(tmp_path, Encoder(lambda value: b"<%d>" % value))
    assert written(sink.with_bucket_assigner(BASE).build(), tmp_path, [1, 2], [3]) == [b"<1><2><3>"]


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        (SimpleStringSchema(), None),
        (JsonSerializationSchema(), b'{"id":1,"name":"Ann"}\n{"id":2,"name":"B, C"}\n'),
        (CsvRowSerializationSchema.Builder(ROW_TYPE).build(), b'1,Ann\n2,"B, C"\n'),
    ],
)
def test_a_serialization_schema_writes_lines(tmp_path: Path, schema: Any, lines: Any) -> None:
    records: list[Any] = DICTS[:2]
    if lines is None:
        records, lines = ["x", "y"], b"x\ny\n"
    sink = FileSink.for_row_format(tmp_path, schema).with_bucket_assigner(BASE).build()
    assert written(sink, tmp_path, records) == [lines]


@pytest.mark.parametrize(
    ("name", "ending", "decompress"),
    [
        ("gzip", ".gz", gzip.decompress),
        ("zstd", ".zst", lambda data: zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(data), read_across_frames=True
        ).read()),
    ],
)  # fmt: skip
def test_lines_are_compressed_across_checkpoints(
    tmp_path: Path, name: str, ending: str, decompress: Any
) -> None:
    sink = FileSink.for_row_format(tmp_path, Encoder.simple_string_encoder())
    files = written(
        sink.with_bucket_assigner(BASE).with_compression(name).build(), tmp_path, ["a"], ["b", "c"]
    )
    assert [decompress(data) for data in files] == [b"a\nb\nc\n"]
    assert all(path.name.endswith(ending) for path in tmp_path.iterdir())


def test_a_compression_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'lzo'"):
        FileSink.for_row_format(tmp_path, Encoder.simple_string_encoder()).with_compression("lzo")


def test_parquet_has_a_column_for_each_field(tmp_path: Path) -> None:
    sink = bulk(tmp_path, ParquetBulkWriters.for_row_type(ROW_TYPE, compression="zstd"))
    layout = layout_of(ROW_TYPE)
    assert layout is not None
    for run in (ROWS, layout.run_of(ROWS), DICTS):
        files = written(sink, tmp_path, run)
        assert parquet.read_table(io.BytesIO(files[-1])).to_pylist() == DICTS
        for path in tmp_path.iterdir():
            path.unlink()


def test_parquet_can_have_the_schema_that_arrow_says(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.large_string())])
    files = written(bulk(tmp_path, ParquetBulkWriters.for_row_type(schema)), tmp_path, ROWS)
    assert parquet.read_schema(io.BytesIO(files[0])).equals(schema)


def test_runs_gather_into_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_columns, "GROUP_ROWS", 5)
    writer = ParquetBulkWriters.for_row_type(ROW_TYPE)
    target = io.BytesIO()
    open_writer = writer.create(target)
    for _ in range(4):
        open_writer.add_run(ROWS)
    open_writer.finish()
    file = parquet.ParquetFile(target)
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [6, 6]


def test_orc_has_a_column_for_each_field(tmp_path: Path) -> None:
    files = written(bulk(tmp_path, OrcBulkWriters.for_row_type(ROW_TYPE)), tmp_path, ROWS)
    assert orc.read_table(io.BytesIO(files[0])).to_pylist() == DICTS


@pytest.mark.parametrize("kind", [ParquetBulkWriters, OrcBulkWriters])
def test_a_file_that_nobody_wants_is_not_written_to_when_its_writer_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    context = SinkWriterContext(0, 1, "sink", None)  # type: ignore[arg-type]
    writer = bulk(tmp_path, kind.for_row_type(ROW_TYPE)).create_writer(context)
    writer.open()
    writer.write_run(ROWS, None)
    writer.close()
    del writer
    gc.collect()
    assert heard == []
    assert list(tmp_path.iterdir()) == []


def test_avro_takes_rows_and_dicts(tmp_path: Path) -> None:
    sink = bulk(tmp_path, AvroBulkWriters.for_generic_record(AVRO))
    files = written(sink, tmp_path, ROWS, DICTS)
    assert [list(fastavro.reader(io.BytesIO(data))) for data in files] == [DICTS, DICTS]


def test_an_avro_schema_can_describe_parquet(tmp_path: Path) -> None:
    files = written(bulk(tmp_path, AvroParquetWriters.for_generic_record(AVRO)), tmp_path, DICTS)
    assert parquet.read_table(io.BytesIO(files[0])).to_pylist() == DICTS


def test_csv_files_can_begin_with_the_names_of_columns(tmp_path: Path) -> None:
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name")
    sink = bulk(tmp_path, CsvBulkWriters.for_schema(schema.set_use_header().build()))
    files = written(sink, tmp_path, ROWS[:2], ROWS[:1])
    assert files == [b'id,name\n1,Ann\n2,"B, C"\n', b"id,name\n1,Ann\n"]


def test_types_without_columns_are_refused_when_the_program_is_built() -> None:
    with pytest.raises(ConfigError, match="does not map to columns"):
        ParquetBulkWriters.for_row_type(Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(ConfigError, match="Hadoop"):
        ParquetBulkWriters.for_row_type(ROW_TYPE, hadoop_config=object())


class Shouting(BulkWriterFactory):
    """A user's own, with the least that a writer must have."""

    def create(self, file: Any) -> Any:
        return _Shouter(file)


class _Shouter:
    def __init__(self, file: Any) -> None:
        self._file = file
        self._records: list[str] = []

    def add_element(self, element: str) -> None:
        self._records.append(element.upper())

    def finish(self) -> None:
        self._file.write(f"{len(self._records)}:{','.join(self._records)}".encode())
        self._file.close()


def test_a_bulk_format_of_ones_own_needs_two_methods(tmp_path: Path) -> None:
    files = written(bulk(tmp_path, Shouting()), tmp_path, ["a", "b"], ["c"])
    assert sorted(files) == [b"1:C", b"2:A,B"]


def merged(compactor: FileCompactor, *inputs: bytes) -> bytes:
    output = io.BytesIO()
    compactor.compact(map(io.BytesIO, inputs), output)
    return output.getvalue()


def test_files_of_bytes_are_merged_with_a_delimiter() -> None:
    assert merged(FileCompactor.concat_file_compactor(), b"a\n", b"b\n") == b"a\nb\n"
    assert merged(FileCompactor.concat_file_compactor("|"), b"a", b"b", b"c") == b"a|b|c"


def test_files_of_columns_and_of_records_are_merged_by_their_content(tmp_path: Path) -> None:
    files = written(
        bulk(tmp_path / "p", ParquetBulkWriters.for_row_type(ROW_TYPE)), tmp_path / "p", ROWS, ROWS
    )
    whole = merged(FileCompactor.parquet_file_compactor(), *files)
    assert parquet.read_table(io.BytesIO(whole)).to_pylist() == DICTS * 2
    assert parquet.ParquetFile(io.BytesIO(whole)).num_row_groups == 1
    files = written(
        bulk(tmp_path / "a", AvroBulkWriters.for_generic_record(AVRO)), tmp_path / "a", ROWS, ROWS
    )
    whole = merged(FileCompactor.avro_file_compactor(), *files)
    assert list(fastavro.reader(io.BytesIO(whole))) == DICTS * 2
