"""Millions of records: totals exact, memory flat."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.testing import processes
from riverrun.testing.waiting import Stopwatch
from tests.spark.conftest import MARK, Figure, MakeEnv

pytestmark = pytest.mark.spark

_COUNT = 10_000_000
_MANY = 60_000_000
_KEYS = 1000
_MB = 1 << 20


class Sampler(threading.Thread):
    """Notes the memory of every working process while a job runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._stop_it = threading.Event()
        self.samples: list[dict[int, int]] = []

    def run(self) -> None:
        while not self._stop_it.wait(0.5):
            working = [
                p
                for p in processes.marked(MARK)
                if not processes.is_daemon(p) or processes.is_working(p)
            ]
            self.samples.append(processes.resident_bytes(working))

    def growth_mb(self) -> float:
        """How much the process that grew most is larger at the end than after a third of the time."""
        self._stop_it.set()
        self.join()
        early = self.samples[len(self.samples) // 3]
        late: dict[int, int] = {}
        for sample in self.samples[len(self.samples) // 3 :]:
            for pid, size in sample.items():
                late[pid] = max(size, late.get(pid, 0))
        return max((late[pid] - size) / _MB for pid, size in early.items())


@pytest.mark.parametrize(
    "count",
    [_COUNT, pytest.param(_MANY, marks=pytest.mark.slow)],
    ids=["ten million", "sixty million"],
)
def test_totals_of_many_records_are_exact_and_memory_is_flat(
    make_env: MakeEnv, figure: Figure, count: int
) -> None:
    env = make_env(parallelism=2)
    per_key = count // _KEYS
    source = DataGeneratorSource(lambda i: (i % _KEYS, i, 1), count)
    stream = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        .key_by(lambda v: v[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
        .filter(lambda v: v[2] == per_key)
    )
    sampler = Sampler()
    sampler.start()
    watch = Stopwatch()

    with stream.execute_and_collect(f"{count} records") as results:
        found: list[Any] = sorted(results)

    seconds = watch.seconds
    grown = sampler.growth_mb()
    figure(f"{count:,} records: growth of the process that grew most", grown, "MB")
    figure(f"{count:,} records through key_by and reduce", count / seconds / 1000, "thousand/s")
    assert found == [(key, sum(range(key, count, _KEYS)), per_key) for key in range(_KEYS)]
    assert grown < 150
