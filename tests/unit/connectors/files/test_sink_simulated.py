"""Whole jobs with a file sink, in the simulator: whatever happens, files hold each record once."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.serialization import Encoder
from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
from riverrun.connectors.files.rolling_policies import RollingPolicy
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import Faults, Variety, simulate

MERGED = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
ROLLS = RollingPolicy.on_checkpoint_rolling_policy()
VARIANTS: dict[str, Callable[[Any], Any]] = {
    "kept open": lambda sink: sink,
    "small": lambda sink: sink.with_rolling_policy(RollingPolicy.default_rolling_policy(9)),
    "merged": lambda sink: sink.with_rolling_policy(ROLLS).enable_compact(
        MERGED, FileCompactor.concat_file_compactor()
    ),
}


class Job:
    """A program whose sink writes to ``folder``, and the law about what is there at the end."""

    def __init__(self, folder: Path, vary: Callable[[Any], Any], parallelism: int | None) -> None:
        self._folder = folder
        self._vary = vary
        self._parallelism = parallelism
        self.parts = 0

    def build(self, env: StreamExecutionEnvironment) -> DataStream:
        if self._parallelism is not None:
            env.set_parallelism(self._parallelism)
        numbers = env.from_sequence(1, 24).rebalance().map(lambda value: value * 10)
        sink = FileSink.for_row_format(self._folder, Encoder.simple_string_encoder())
        sink.with_bucket_assigner(lambda value: f"b={value % 30}").with_success_file()
        numbers.sink_to(self._vary(sink).build())
        return numbers

    def check(self, values: list[Any]) -> None:
        parts = list(self._folder.glob("b=*/*"))
        found = Counter(int(line) for part in parts for line in part.read_text().splitlines())
        assert found == Counter(values)
        assert (self._folder / "_SUCCESS").exists()
        self.parts += len(parts)
        shutil.rmtree(self._folder)


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine dies here: the disk need not be waited for."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_record_is_in_one_file_whatever_happens(tmp_path: Path, variant: str) -> None:
    job = Job(tmp_path / "out", VARIANTS[variant], 2)
    report = simulate(job.build, seeds=range(25), check=job.check, variety=Variety(savepoints=1))
    assert report.attempts > 2 * report.runs
    assert job.parts > report.runs


@pytest.mark.parametrize("variant", ["small", "merged"])
def test_each_record_is_in_one_file_across_other_parallelisms(tmp_path: Path, variant: str) -> None:
    job = Job(tmp_path / "out", VARIANTS[variant], None)
    variety = Variety(parallelism=(1, 2, 3), rescales=2)
    report = simulate(job.build, seeds=range(15), check=job.check, variety=variety)
    assert report.rescales > 0


def test_each_record_is_in_one_file_when_another_job_goes_on(tmp_path: Path) -> None:
    job = Job(tmp_path / "out", VARIANTS["small"], 2)
    faults = Faults(storage_errors=0, master_crashes=0)
    report = simulate(
        job.build, seeds=range(15), check=job.check, faults=faults, variety=Variety(stops=2)
    )
    assert report.jobs > report.runs


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_each_record_is_in_one_file_in_many_runs(tmp_path: Path, variant: str) -> None:
    job = Job(tmp_path / "out", VARIANTS[variant], 2)
    simulate(job.build, seeds=range(1000), check=job.check, variety=Variety(savepoints=1))
