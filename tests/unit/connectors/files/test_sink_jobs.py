"""Jobs in this process that end in files, written as for PyFlink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from riverrun.compat.pyflink.modules import install, uninstall
from riverrun.core.configuration import Configuration
from riverrun.datastream.environment import StreamExecutionEnvironment


@pytest.fixture(autouse=True)
def pyflink() -> Iterator[None]:
    install()
    yield
    uninstall()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("riverrun.master", "in-process")
    config.set_string("execution.checkpointing.interval", "20 ms")
    return StreamExecutionEnvironment.get_execution_environment(config)


def lines(folder: Path) -> list[str]:
    return sorted(
        line for path in folder.iterdir() if path.is_file() for line in path.read_text().split()
    )


def test_a_pyflink_program_writes_lines(env: Any, tmp_path: Path) -> None:
    from pyflink.common.serialization import Encoder  # noqa: PLC0415
    from pyflink.datastream.connectors.file_system import (  # noqa: PLC0415
        BucketAssigner,
        FileSink,
        OutputFileConfig,
        RollingPolicy,
        StreamingFileSink,
    )

    config = OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
    numbers = env.set_parallelism(2).from_sequence(1, 500)
    for name, kind, add in (
        ("new", FileSink, numbers.sink_to),
        ("old", StreamingFileSink, numbers.add_sink),
    ):
        add(
            kind.for_row_format(str(tmp_path / name), Encoder.simple_string_encoder())
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
            .with_bucket_check_interval(1000)
            .with_output_file_config(config)
            .build()
        )
    env.execute()

    for name in ("new", "old"):
        assert lines(tmp_path / name) == sorted(str(n) for n in range(1, 501))
        assert all(path.name.startswith("pre-") for path in (tmp_path / name).iterdir())


def test_columns_go_into_parquet(env: Any, tmp_path: Path) -> None:
    from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink  # noqa: PLC0415
    from pyflink.datastream.formats.parquet import ParquetBulkWriters  # noqa: PLC0415

    table = pa.table({"id": list(range(300)), "name": [f"n{n % 7}" for n in range(300)]})
    sink = (
        FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(table.schema))
        .with_bucket_assigner(BucketAssigner.field_bucket_assigner("name"))
        .build()
    )
    env.set_parallelism(2).from_batches(table).sink_to(sink)
    env.execute()

    found = parquet.read_table(tmp_path, partitioning=None).sort_by("id")
    assert found.to_pylist() == table.to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"name=n{n}" for n in range(7)]
