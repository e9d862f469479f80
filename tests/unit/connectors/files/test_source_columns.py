"""Parquet, ORC and Avro files: every record once, only the wanted columns, and clear words otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc, parquet

from riverrun.connectors.files import source_streams
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.source_avro import AvroFileFormat, AvroInputFormat
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_columns import (
    AvroParquetReaders,
    OrcColumnarRowInputFormat,
    ParquetColumnarRowInputFormat,
)
from riverrun.connectors.files.source_formats import BulkFormat, FileUnreadable
from riverrun.connectors.formats.avro_schema import AvroSchema
from riverrun.core.errors import ProgramError
from riverrun.serde.columns import ColumnRun
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.conformance.source_run import SourceRun
from riverrun.testing.conformance.sources import check_source
from tests.unit.connectors.files.test_source_lines import read_all

ROW = Types.ROW_NAMED(["name", "id"], [Types.STRING(), Types.LONG()])
AVRO = AvroSchema(
    {
        "type": "record",
        "name": "A",
        "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
    }
)


def table_of(count: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "other": pa.array([1.5] * count),
            "name": pa.array([None if n % 3 == 0 else f"n{n}" for n in range(count)], pa.string()),
        }
    )


def rows_of(count: int) -> list[Row]:
    return [Row(name=None if n % 3 == 0 else f"n{n}", id=n) for n in range(count)]


def bulk(reads: BulkFormat, path: Path, split_size: int = 1 << 20) -> FileSource:
    return FileSource.for_bulk_file_format(reads, str(path)).set_split_size(split_size).build()


@settings(max_examples=30)
@given(st.integers(0, 60), st.integers(4, 20), st.integers(200, 3000), st.integers(0, 1000))
def test_every_row_of_a_parquet_file_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, count: int, group: int, split_size: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    parquet.write_table(table_of(count), folder / "in.parquet", row_group_size=group)

    check_source(
        lambda: bulk(ParquetColumnarRowInputFormat(ROW), folder, split_size),
        rows_of(count),
        seeds=[seed],
    )


def test_parquet_gives_columns(tmp_path: Path) -> None:
    parquet.write_table(table_of(10), tmp_path / "in.parquet")
    source = bulk(ParquetColumnarRowInputFormat(ROW), tmp_path)
    run = SourceRun(source, 1)
    polled = run.poll(0, 100)
    while not polled.values:
        run.pass_messages()
        polled = run.poll(0, 4)
    run.close()

    assert source.gives_columns
    assert isinstance(polled.values, ColumnRun)
    assert polled.values == rows_of(4)


def test_the_type_may_come_from_a_file(tmp_path: Path) -> None:
    parquet.write_table(table_of(2), tmp_path / "in.parquet")

    reads = ParquetColumnarRowInputFormat.like_file(str(tmp_path / "in.parquet"))

    assert read_all(bulk(reads, tmp_path))[0] == [
        Row(id=0, other=1.5, name=None),
        Row(id=1, other=1.5, name="n1"),
    ]


def test_names_of_columns_may_differ_in_case(tmp_path: Path) -> None:
    parquet.write_table(
        table_of(2).rename_columns(["ID", "other", "Name"]), tmp_path / "in.parquet"
    )

    reads = ParquetColumnarRowInputFormat(ROW, is_case_sensitive=False)

    assert read_all(bulk(reads, tmp_path))[0] == rows_of(2)


@pytest.mark.parametrize(
    ("row_type", "said"),
    [
        (Types.ROW_NAMED(["none"], [Types.LONG()]), r"has the columns .* expected also \['none'\]"),
        (Types.ROW_NAMED(["name"], [Types.LONG()]), "column 'name': is string; expected int64"),
    ],
)
def test_a_file_of_another_schema_is_named(tmp_path: Path, row_type: Any, said: str) -> None:
    parquet.write_table(table_of(5), tmp_path / "in.parquet")

    with pytest.raises(FileUnreadable, match=r"file '.*in.parquet': .*" + said):
        read_all(bulk(ParquetColumnarRowInputFormat(row_type), tmp_path))


@pytest.mark.parametrize(
    "reads",
    [ParquetColumnarRowInputFormat(ROW), OrcColumnarRowInputFormat(ROW), AvroFileFormat(AVRO)],
)
def test_a_file_of_another_format_is_named(tmp_path: Path, reads: BulkFormat) -> None:
    (tmp_path / "in.x").write_bytes(b"these are just some lines\n" * 10)

    with pytest.raises(FileUnreadable, match=r"file '.*in.x': it (cannot be read|begins with)"):
        read_all(bulk(reads, tmp_path))


def test_types_without_columns_are_refused() -> None:
    with pytest.raises(ProgramError, match="expected rows of basic types"):
        ParquetColumnarRowInputFormat(Types.LONG())
    with pytest.raises(ProgramError, match="there is no Hadoop here"):
        ParquetColumnarRowInputFormat(ROW, object())


def test_orc_files_are_read(tmp_path: Path) -> None:
    orc.write_table(table_of(40), str(tmp_path / "in.orc"))

    check_source(
        lambda: bulk(OrcColumnarRowInputFormat(ROW), tmp_path, 10), rows_of(40), seeds=range(5)
    )


def test_an_avro_schema_describes_parquet_files_too(tmp_path: Path) -> None:
    parquet.write_table(table_of(3), tmp_path / "in.parquet")

    reads = AvroParquetReaders.for_generic_record(AVRO)
    as_stream = FileSource.for_record_stream_format(reads, str(tmp_path)).build()
    for source in (as_stream, bulk(reads, tmp_path)):
        found = read_all(source)[0]
        assert found == [Row(id=row.id, name=row.name) for row in rows_of(3)]
        assert [row["id"] for row in found] == [0, 1, 2]


def write_avro(path: Path, count: int, **options: Any) -> None:
    records = [{"id": row.id, "name": row.name} for row in rows_of(count)]
    with path.open("wb") as file:
        fastavro.writer(file, AVRO.parsed, records, **options)


@settings(max_examples=30)
@given(
    st.integers(0, 60),
    st.integers(1, 100),
    st.integers(20, 400),
    st.sampled_from(["null", "deflate"]),
    st.integers(0, 1000),
)
def test_every_record_of_an_avro_file_is_read_once(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    block: int,
    split_size: int,
    codec: str,
    seed: int,
) -> None:
    folder = tmp_path_factory.mktemp("avro")
    write_avro(folder / "in.avro", count, sync_interval=block, codec=codec)

    with patch.object(source_streams, "_CHUNK", (1, 100, 1 << 20)[seed % 3]):
        check_source(
            lambda: bulk(AvroFileFormat(AVRO), folder, split_size),
            [Row(id=row.id, name=row.name) for row in rows_of(count)],
            seeds=[seed],
        )


def test_many_blocks_of_an_avro_file_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_avro(tmp_path / "in.avro", 500, sync_interval=100)
    file = Mock(wraps=pa.OSFile(str(tmp_path / "in.avro")))
    monkeypatch.setattr(FileStore, "open", lambda *_: file)

    assert len(read_all(bulk(AvroFileFormat(AVRO), tmp_path))[0]) == 500
    assert file.read.call_count <= 2  # the header, and the rest


def test_avro_records_may_be_dicts_of_a_newer_schema(tmp_path: Path) -> None:
    write_avro(tmp_path / "in.avro", 2)
    newer = AvroSchema(
        {
            "type": "record",
            "name": "A",
            "fields": [
                {"name": "more", "type": "int", "default": 7},
                {"name": "id", "type": "long"},
            ],
        }
    )
    reads = AvroInputFormat(str(tmp_path), newer)

    assert read_all(bulk(reads, tmp_path))[0] == [{"more": 7, "id": 0}, {"more": 7, "id": 1}]


def test_a_damaged_avro_file_is_named(tmp_path: Path) -> None:
    write_avro(tmp_path / "in.avro", 50, sync_interval=100)
    content = (tmp_path / "in.avro").read_bytes()
    other = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "string"}]}

    with pytest.raises(FileUnreadable, match=r"in.avro': .* cannot be read as 'A'"):
        read_all(bulk(AvroFileFormat(AvroSchema(other)), tmp_path))
    (tmp_path / "in.avro").write_bytes(content[:-5])
    with pytest.raises(FileUnreadable, match=r"in.avro': the block at byte \d+ is damaged or cut"):
        read_all(bulk(AvroFileFormat(AVRO), tmp_path))
    (tmp_path / "in.avro").write_bytes(content[:30])
    with pytest.raises(FileUnreadable, match=r"in.avro': it is cut off before its first record"):
        read_all(bulk(AvroFileFormat(AVRO), tmp_path))
