"""Files through a keyed count into files, exactly once: workers are killed, every line is there once."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.serialization import Encoder
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.bucket_assigners import BucketAssigner
from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
from riverrun.connectors.files.rolling_policies import RollingPolicy
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.core.time import Duration
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import Chaos
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

KEYS = 20
LINES = Encoder(lambda value: f"{value[0]} {value[1]}\n".encode())
ROLLS = RollingPolicy.on_checkpoint_rolling_policy()
MERGED = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()


def counting(make_env: MakeEnv, folder: Path) -> JobClient:
    """The lines of a key are numbered; one sink writes a file a checkpoint, the other merges them."""
    (folder / "in").mkdir()
    env = make_env(2, {**RECOVERING, "execution.checkpointing.dir": str(folder / "checkpoints")})
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder / "in")
        .monitor_continuously(Duration.of_millis(50))
        .build()
    )
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    numbered = (
        lines.map(lambda line: (line, 1))
        .key_by(lambda value: value[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    plain = FileSink.for_row_format(folder / "plain", LINES).with_rolling_policy(ROLLS)
    plain.with_bucket_assigner(lambda value: f"digit={value[0][-1]}")
    numbered.sink_to(plain.build()).name("plain")
    merged = FileSink.for_row_format(folder / "merged", LINES).with_rolling_policy(ROLLS)
    merged.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    merged.enable_compact(MERGED, FileCompactor.concat_file_compactor())
    numbered.sink_to(merged.build()).name("merged")
    return env.execute_async("files into files")


def add_input(folder: Path, number: int, lines: int) -> None:
    text = "".join(f"key-{line % KEYS}\n" for line in range(lines))
    hidden = folder / "in" / f".{number}"
    hidden.write_text(text)
    hidden.rename(folder / "in" / f"lines-{number}.txt")


def expected(lines: int) -> Counter[str]:
    each = {key: lines // KEYS + (key < lines % KEYS) for key in range(KEYS)}
    return Counter(
        f"key-{key} {number}" for key, last in each.items() for number in range(1, last + 1)
    )


def written(folder: Path) -> Counter[str]:
    return Counter(
        line
        for path in folder.rglob("*part-*")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        for line in path.read_text().splitlines()
    )


def holds(folder: Path, lines: int) -> bool:
    return written(folder).total() >= lines


def assert_exact(client: JobClient, folder: Path, lines: int) -> None:
    """All lines are there in the end, each once, and stay so."""
    for sink in ("plain", "merged"):
        wait_until(partial(holds, folder / sink, lines), what=f"all of {sink}", timeout_s=60)
    client.stop_with_savepoint(
        advance_to_end_of_event_time=True, savepoint_directory=str(folder / "savepoints")
    ).result(60)
    for sink in ("plain", "merged"):
        assert written(folder / sink) == expected(lines), sink


def test_every_line_is_there_once_though_workers_are_killed(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    client = counting(make_env, tmp_path)
    chaos: Any = Chaos(client)
    for number in range(4):
        add_input(tmp_path, number, 2_000)
        if number == 1:
            wait_until(lambda: written(tmp_path / "plain"), what="the first commit")
            chaos.kill_after_checkpoint()
        if number == 2:
            chaos.kill("plain")

    assert_exact(client, tmp_path, 8_000)
    assert client.get_failures()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_every_line_is_there_once_after_any_number_of_kills(
    make_env: MakeEnv, tmp_path: Path, seed: int
) -> None:
    client = counting(make_env, tmp_path)
    chaos = Chaos(client, seed)
    for number in range(12):
        add_input(tmp_path, number, 5_000)
        chaos.kill_within(2.0)
    assert_exact(client, tmp_path, 60_000)
