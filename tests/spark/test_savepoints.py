"""Savepoints on Spark: jobs that stop and go on elsewhere, and workers that die while one is taken."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.core.errors import CheckpointFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.core.time import Duration
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.serde.types import Types
from riverrun.testing.waiting import Stopwatch, wait_until
from tests.spark.allround.chaos import await_checkpoint, await_recovery, await_running, process_of
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import Figure, MakeEnv

pytestmark = pytest.mark.spark

KEYS, PER_KEY = 8, 1500
WINDOW_MS = 100
PATIENCE_S = 60.0
EXACT = Counter((key, number) for key in range(KEYS) for number in range(1, PER_KEY + 1))


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        seen = (self._seen.value() or 0) + 1
        self._seen.update(seen)
        yield ctx.get_current_key(), seen


class Place:
    """Where a test's jobs write and leave their savepoints."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.savepoints = folder / "savepoints"
        self.gate = folder / "gate"

    def config(self, start_from: str | None = None, **more: str) -> dict[str, str]:
        found = {"execution.checkpointing.savepoint-dir": str(self.savepoints), **more}
        if start_from is not None:
            found["execution.state-recovery.path"] = start_from
        return found

    def counting(self, env: StreamExecutionEnvironment) -> JobClient:
        """Each record with its number among those of its key."""
        source = SequenceSource(KEYS, PER_KEY, rate=2500, gate=str(self.gate))
        records = env.from_source(source, None, "records").uid("records")
        counted = records.key_by(lambda record: record[0]).process(Count()).uid("count")
        counted.name("count").sink_to(FileSink(str(self.results))).uid("files")
        return env.execute_async("counting")

    def windowed(self, env: StreamExecutionEnvironment) -> JobClient:
        """How many records of each key fall into each tenth of a second."""
        source = SequenceSource(KEYS, PER_KEY, rate=2500, gate=str(self.gate))
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_seconds(30)
        ).with_timestamp_assigner(lambda record, _: record[1])
        records = env.from_source(source, strategy, "records").uid("records")
        counted = (
            records.map(lambda record: (record[0], record[1] // WINDOW_MS, 1))
            .key_by(lambda record: record[0])
            .window(TumblingEventTimeWindows.of(Duration.of_millis(WINDOW_MS)))
            .reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
            .uid("windows")
        )
        counted.sink_to(FileSink(str(self.results))).uid("files")
        return env.execute_async("windowed")

    def finish(self, client: JobClient) -> None:
        """Let the job run to its end."""
        self.gate.touch()
        client.get_job_execution_result().result(PATIENCE_S)

    def committed(self) -> Counter[Any]:
        """All results of all jobs."""
        return Counter(committed(self.results))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def take_savepoint(client: JobClient) -> str:
    """A savepoint, as soon as every task runs."""

    def taken() -> str | None:
        await_running(client)
        with suppress(CheckpointFailed):
            return client.trigger_savepoint().result(PATIENCE_S)
        return None

    location = wait_until(taken, what="a savepoint")
    assert location is not None
    return location


def stop(client: JobClient, *, drain: bool = False) -> str:
    savepoint = client.stop_with_savepoint(drain).result(PATIENCE_S)
    assert client.get_job_status().result() is JobStatus.FINISHED
    return savepoint


def test_jobs_go_on_from_savepoints_at_other_parallelisms_and_on_other_backends(
    make_env: MakeEnv, place: Place, figure: Figure
) -> None:
    first = place.counting(make_env(1, place.config()))
    assert take_savepoint(first) != ""
    watch = Stopwatch()
    savepoint = stop(first)
    figure("stop with a savepoint", watch.seconds, "s")

    rocksdb = place.config(savepoint, **RECOVERING, **{"state.backend.type": "rocksdb"})
    second = place.counting(make_env(3, rocksdb))
    await_checkpoint(second, 2)
    between = take_savepoint(second)
    await_checkpoint(second, 1)
    savepoint = stop(second)

    place.finish(place.counting(make_env(2, place.config(savepoint))))
    assert place.committed() == EXACT
    assert (Path(between) / "_metadata").exists()


def test_a_drained_job_fires_its_windows_and_counts_no_record_twice_when_it_goes_on(
    make_env: MakeEnv, place: Place
) -> None:
    first = place.windowed(make_env(2, place.config(**RECOVERING)))
    await_checkpoint(first, 3)
    assert place.committed() == Counter(), "the watermark is far behind"
    savepoint = stop(first, drain=True)

    drained = sum(number * times for (_, _, number), times in place.committed().items())
    assert 0 < drained < KEYS * PER_KEY
    rocksdb = place.config(savepoint, **{"state.backend.type": "rocksdb"})
    place.finish(place.windowed(make_env(3, rocksdb)))
    totals: Counter[Any] = Counter()
    for (key, window, number), times in place.committed().items():
        totals[key, window] += number * times
    assert totals == Counter(
        {(key, window): WINDOW_MS for key in range(KEYS) for window in range(PER_KEY // WINDOW_MS)}
    )


@pytest.mark.parametrize("stops", [False, True], ids=["savepoint", "stop"])
def test_a_worker_that_dies_while_a_savepoint_is_taken_costs_the_savepoint_and_nothing_else(
    make_env: MakeEnv, place: Place, *, stops: bool
) -> None:
    client = place.counting(make_env(2, place.config(**RECOVERING)))
    await_checkpoint(client, 2)
    victim = process_of(client, "count")
    os.kill(victim, signal.SIGSTOP)
    failures = len(client.get_failures())
    wish = client.stop_with_savepoint(False) if stops else client.trigger_savepoint()
    os.kill(victim, signal.SIGKILL)

    with pytest.raises(CheckpointFailed, match="no checkpoint or savepoint"):
        wish.result(PATIENCE_S)
    await_recovery(client, failures)
    await_checkpoint(client, 1)
    savepoint = stop(client)
    place.finish(place.counting(make_env(3, place.config(savepoint))))

    assert place.committed() == EXACT
    assert [path.name for path in place.savepoints.iterdir()] == [Path(savepoint).name]
