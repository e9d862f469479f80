"""A record does not wait for the next one, however many exchanges it has to cross."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.testing.waiting import Stopwatch
from tests.spark.conftest import Figure, MakeEnv

pytestmark = pytest.mark.spark

_HOUR_MS = 3_600_000.0


class FallsSilent(Source[str]):
    """One record, and then nothing, without an end."""

    def create_splits(self, parallelism: int) -> list[Any]:
        return ["the only record"]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[str]:
        return _Reader(splits)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


class _Reader(SourceReader[str]):
    def __init__(self, splits: list[str]) -> None:
        self._splits = splits

    def poll(self, limit: int) -> Polled:
        values, self._splits = self._splits, []
        return Polled(values, status=SourceStatus.NOTHING_AVAILABLE, wait_ms=_HOUR_MS)

    def snapshot_splits(self) -> list[Any]:
        return self._splits


@pytest.mark.parametrize("exchanges", [1, 2, 3])
def test_a_record_arrives_though_its_source_falls_silent(
    make_env: MakeEnv, exchanges: int, figure: Figure
) -> None:
    env = make_env(parallelism=2)
    stream = env.from_source(FallsSilent(), WatermarkStrategy.no_watermarks(), "falls silent")
    for _ in range(exchanges):
        stream = stream.rebalance().map(lambda value: value)

    watch = Stopwatch()
    with stream.execute_and_collect("falls silent") as results:
        assert next(results) == "the only record"
        figure(f"submission to the first record over {exchanges} exchanges", watch.seconds, "s")
