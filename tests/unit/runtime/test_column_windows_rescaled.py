"""Windows on columns of subtasks that were at different times when they became one."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.output_tag import OutputTag
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.datastream.data_stream import DataStream
from riverrun.serde.key_hash import key_group
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.testing.harness import HarnessSnapshot, OperatorHarness

ROWS = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
LATE = OutputTag("late")
AHEAD, BEHIND = (
    next(key for key in "abcdefgh" if key_group(key, 128) // 64 == subtask) for subtask in (0, 1)
)
"""A key of each of two subtasks; the first one had fired, the second had not."""


class Rescaled:
    """Windows of 10 ms, in which each key had one record of time 25."""

    def __init__(self, backend: str, lateness: int) -> None:
        def build(stream: DataStream) -> DataStream:
            windows = stream.key_by_columns("key").window(TumblingEventTimeWindows.of(10))
            windows.allowed_lateness(lateness).side_output_late_data(LATE)
            return windows.aggregate_columns(Agg.collect("n"))

        self._build, self._backend = build, backend

    def ran(self, subtask: int, key: str, watermark: int) -> HarnessSnapshot:
        """What a subtask leaves that came as far as ``watermark``."""
        with OperatorHarness(
            self._build, types=[ROWS], backend=self._backend, parallelism=2, subtask=subtask
        ) as harness:
            harness.push(Row(key, 1), 25)
            harness.watermark(watermark)
            return harness.snapshot()

    def together(self) -> OperatorHarness:
        """Both as one subtask."""
        return OperatorHarness(
            self._build,
            types=[ROWS],
            side_outputs=[LATE],
            backend=self._backend,
            restore=[self.ran(0, AHEAD, 50), self.ran(1, BEHIND, 20)],
        )


def shown(harness: OperatorHarness) -> list[Any]:
    return [tuple(row) for row in harness.output()]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_record_is_late_if_its_key_was_beyond_it(backend: str) -> None:
    with Rescaled(backend, lateness=0).together() as harness:
        harness.push_run([Row(AHEAD, 2), Row(BEHIND, 2)], [26, 27])
        assert harness.side_output(LATE) == [Row(key=AHEAD, n=2)]
        harness.watermark(60)
        assert shown(harness) == [(BEHIND, 20, 30, [1, 2])]
        assert harness.side_output(LATE) == []


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_window_that_is_kept_fires_again_for_the_key_that_was_beyond_it(backend: str) -> None:
    with Rescaled(backend, lateness=100).together() as harness:
        harness.push_run([Row(AHEAD, 2), Row(BEHIND, 2)], [26, 27])
        assert shown(harness) == [(AHEAD, 20, 30, [1, 2])]
        harness.watermark(60)
        assert shown(harness) == [(BEHIND, 20, 30, [1, 2])]
        harness.push(Row(AHEAD, 3), 25)
        assert shown(harness) == [(AHEAD, 20, 30, [1, 2, 3])]
        assert harness.side_output(LATE) == []
