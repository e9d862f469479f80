"""A source with an enumerator on Spark: readers get splits as they are found, over kills and rescales."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from tests.spark.allround.chaos import await_checkpoint, await_recovery, process_of
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv
from tests.unit.testing.discovering_sources import QueuedNumbers

pytestmark = pytest.mark.spark


def test_splits_found_while_the_job_runs_are_read_once_although_the_enumerators_worker_is_killed(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env(2, dict(RECOVERING))
    source = QueuedNumbers(splits=1000, size=20)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = (
        numbers.map(lambda n: (n % 7, 1))
        .key_by(lambda record: record[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    counts.sink_to(FileSink(str(tmp_path)))
    client = env.execute_async("discovery")
    await_checkpoint(client, 2)

    os.kill(process_of(client, "numbers", 0), signal.SIGKILL)
    await_recovery(client, 0)
    client.rescale(3)
    client.get_job_execution_result().result(60)

    assert sorted(committed(tmp_path)) == sorted(
        (key, number + 1) for key in range(7) for number in range(len(range(key, 20_000, 7)))
    )
    assert len(client.get_failures()) == 1
