"""Whole jobs that read files, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from riverrun.api.bad_records import DEAD_LETTERS, BadRecords
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.source_avro import AvroInputFormat
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_columns import ParquetColumnarRowInputFormat
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.connectors.formats.avro_schema import AvroSchema
from riverrun.core.configuration import Configuration
from riverrun.core.errors import JobFailed
from riverrun.core.time import Duration
from riverrun.datastream.environment import StreamExecutionEnvironment

NOW = WatermarkStrategy.no_watermarks()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    settings = {"riverrun.master": "in-process"}
    made = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    return made.set_parallelism(2)


def _is_small(batch: pa.RecordBatch) -> pa.Array:
    hundreds = pc.multiply(pc.divide(batch["id"], 100), 100)
    return pc.less(pc.subtract(batch["id"], hundreds), 2)


def test_columns_of_files_are_filtered_as_columns(
    tmp_path: Path, env: StreamExecutionEnvironment
) -> None:
    for part in range(3):
        table = pa.table({"id": list(range(part * 100, part * 100 + 100)), "other": ["x"] * 100})
        parquet.write_table(table, tmp_path / f"{part}.parquet", row_group_size=30)
    reads = ParquetColumnarRowInputFormat.like_file(str(tmp_path / "0.parquet"))
    source = FileSource.for_bulk_file_format(reads, tmp_path).set_split_size(400).build()

    stream = env.from_source(source, NOW, "parquet").filter_batches(_is_small)
    with stream.execute_and_collect() as results:
        assert sorted(row.id for row in results) == [0, 1, 100, 101, 200, 201]


def test_an_avro_input_format_is_a_source_too(
    tmp_path: Path, env: StreamExecutionEnvironment
) -> None:
    fields = [{"name": "id", "type": "long"}]
    schema = AvroSchema({"type": "record", "name": "A", "fields": fields})
    with (tmp_path / "in.avro").open("wb") as file:
        fastavro.writer(file, schema.parsed, [{"id": 1}, {"id": 2}])

    stream = env.create_input(AvroInputFormat(str(tmp_path), schema))
    with stream.execute_and_collect() as results:
        assert sorted(results, key=lambda record: int(record["id"])) == [{"id": 1}, {"id": 2}]


def test_dead_letters_leave_by_their_side_output(
    tmp_path: Path, env: StreamExecutionEnvironment
) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n{"a": \n{"a": 2}\n')
    builder = FileSource.for_record_stream_format(StreamFormat.json_lines_format(), tmp_path)
    stream = env.from_source(builder.set_bad_records(BadRecords.DEAD_LETTER).build(), NOW, "lines")
    letters = stream.get_side_output(DEAD_LETTERS).map(lambda letter: letter.payload)

    with stream.map(lambda record: record["a"]).union(letters).execute_and_collect() as results:
        assert sorted(results, key=str) == [1, 2, b'{"a": ']


def test_a_missing_path_fails_the_job_at_once_although_it_may_restart(
    tmp_path: Path, env: StreamExecutionEnvironment
) -> None:
    env.enable_checkpointing(100)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), tmp_path / "none")
    env.from_source(source.build(), NOW, "lines").print()

    with pytest.raises(
        JobFailed, match=r"operator '.*lines'.*none': there is no such file or folder"
    ):
        env.execute()


def test_files_that_appear_are_read_by_a_running_job(
    tmp_path: Path, env: StreamExecutionEnvironment
) -> None:
    (tmp_path / "0").write_text("0\n")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), tmp_path)
    source = builder.monitor_continuously(Duration.of_millis(20)).build()
    found: list[Any] = []

    with env.from_source(source, NOW, "lines").execute_and_collect() as results:
        for line in results:
            found.append(line)
            following = tmp_path / str(len(found))
            if len(found) == 4:
                break
            following.with_name(f".{following.name}").write_text(f"{len(found)}\n")
            following.with_name(f".{following.name}").rename(following)

    assert found == ["0", "1", "2", "3"]
