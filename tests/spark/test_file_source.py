"""The file source on Spark: files that appear while the job runs, over the kill of a worker and a rescale."""

from __future__ import annotations

import gzip
import os
import signal
from pathlib import Path

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.core.time import Duration
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import await_checkpoint, await_recovery, process_of
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

LINES = 500


def _appear(folder: Path, names: range) -> list[tuple[int]]:
    """Files of numbers, every other one compressed; each is there with all its lines at once."""
    numbers: list[tuple[int]] = []
    for name in names:
        content = [name * LINES + number for number in range(LINES)]
        text = "".join(f'{{"n": {number}}}\n' for number in content).encode()
        hidden = folder / f".{name}"
        hidden.write_bytes(gzip.compress(text) if name % 2 else text)
        hidden.rename(folder / f"{name}.jsonl{'.gz' if name % 2 else ''}")
        numbers += [(number,) for number in content]
    return numbers


def test_files_that_appear_are_read_once_although_the_enumerators_worker_is_killed(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    expected = _appear(folder, range(10))
    env = make_env(2, dict(RECOVERING))
    source = (
        FileSource.for_record_stream_format(StreamFormat.json_lines_format(), folder)
        .monitor_continuously(Duration.of_millis(50))
        .set_split_size(1000)
        .build()
    )
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    records.map(lambda record: (record["n"],)).rebalance().sink_to(FileSink(str(out)))
    client = env.execute_async("files")
    await_checkpoint(client, 2)

    expected += _appear(folder, range(10, 20))
    os.kill(process_of(client, "files", 0), signal.SIGKILL)
    await_recovery(client, 0)
    client.rescale(3)
    expected += _appear(folder, range(20, 25))
    wait_until(lambda: len(committed(out)) >= len(expected), what="every record is committed")
    await_checkpoint(client, 2)
    client.cancel().result()

    assert sorted(committed(out)) == sorted(expected)
