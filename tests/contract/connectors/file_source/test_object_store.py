"""The file source in an object store: ranges of files, formats, and what is said when it is not reachable."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pytest
from pyarrow import parquet

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_columns import ParquetColumnarRowInputFormat
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.core.configuration import Configuration
from riverrun.core.errors import JobFailed
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.testing.conformance.sources import check_source
from tests.servers.s3 import S3Process, s3_process

TEXT = StreamFormat.text_line_format()


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Process]:
    with s3_process() as server:
        yield server


def put(server: S3Process, name: str, content: bytes) -> str:
    location = f"s3://{server.bucket}/{name}"
    with FileStore(server.config()).create(location) as stream:
        stream.write(content)
    return location


def in_process(config: Mapping[str, str]) -> StreamExecutionEnvironment:
    settings = {"riverrun.master": "in-process", **config}
    return StreamExecutionEnvironment.get_execution_environment(Configuration(settings))


def test_lines_in_an_object_store_are_read_once(s3: S3Process) -> None:
    lines = [f"line {number}" for number in range(200)]
    for part in range(2):
        content = "".join(f"{line}\n" for line in lines[part * 100 : part * 100 + 100])
        put(s3, f"lines/day={part}/in put.txt", content.encode())
    put(s3, "lines/_SUCCESS", b"")

    def make() -> FileSource:
        builder = FileSource.for_record_stream_format(TEXT, f"s3://{s3.bucket}/lines/")
        return builder.set_split_size(300).set_storage_options(s3.config()).build()

    check_source(make, lines, seeds=range(2))


def test_a_job_reads_parquet_with_the_stores_of_its_configuration(s3: S3Process) -> None:
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"id": list(range(100))}), buffer, row_group_size=10)
    location = put(s3, "parquet/in.parquet", buffer.getvalue())
    reads = ParquetColumnarRowInputFormat.like_file(location, s3.config())
    source = FileSource.for_bulk_file_format(reads, f"s3://{s3.bucket}/parq*/*.parquet")

    with in_process(s3.config()) as env:
        stream = env.set_parallelism(2).from_source(
            source.set_split_size(500).build(), WatermarkStrategy.no_watermarks(), "parquet"
        )
        with stream.execute_and_collect() as results:
            assert sorted(results, key=lambda row: int(row.id)) == [Row(id=n) for n in range(100)]


@pytest.mark.parametrize(
    ("path", "changes", "said"),
    [
        ("s3://{bucket}/none", {}, "there is no such file or folder"),
        ("s3://no-such-bucket-at-all/x", {}, "there is no such file or folder"),
        ("s3://{bucket}/x", {"s3.endpoint": "http://127.0.0.1:1"}, "the store did not answer"),
    ],
)
def test_what_is_not_there_fails_the_job_before_data_moves(
    s3: S3Process, path: str, changes: Mapping[str, str], said: str
) -> None:
    source = FileSource.for_record_stream_format(TEXT, path.format(bucket=s3.bucket)).build()

    with in_process({**s3.config(), "riverrun.s3.attempts": "1", **changes}) as env:
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").print()
        with pytest.raises(JobFailed, match=said):
            env.execute()
