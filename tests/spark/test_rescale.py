"""Rescaling on Spark: running jobs that grow and shrink, also while their workers die."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.graph.rescaling import RescaleRefused
from riverrun.serde.types import Types
from riverrun.testing.waiting import Stopwatch
from tests.spark.allround.chaos import Chaos, await_checkpoint, live_processes, process_of
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import Figure, MakeEnv, await_status

pytestmark = pytest.mark.spark

KEYS, PER_KEY = 8, 2000
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


class Counting:
    """A job whose result tells every record that is lost or counted twice."""

    def __init__(self, folder: Path) -> None:
        self._results, self._gate = folder / "results", folder / "gate"

    def start(self, env: StreamExecutionEnvironment) -> JobClient:
        source = SequenceSource(KEYS, PER_KEY, rate=1000, gate=str(self._gate))
        records = env.from_source(source, None, "records").uid("records")
        counted = records.key_by(lambda record: record[0]).process(Count()).uid("count")
        counted.name("count").sink_to(FileSink(str(self._results))).uid("files")
        client = env.execute_async("counting")
        await_status(client)
        return client

    def finish(self, client: JobClient) -> Counter[Any]:
        """Let the job run to its end, and give its result."""
        self._gate.touch()
        client.get_job_execution_result().result(PATIENCE_S)
        return Counter(committed(self._results))


@pytest.fixture
def counting(tmp_path: Path) -> Counting:
    return Counting(tmp_path)


def subtasks(client: JobClient, task: str) -> list[int]:
    return sorted(index for name, index in live_processes(client) if task in name)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_running_job_grows_and_shrinks_and_every_record_counts_once(
    make_env: MakeEnv, counting: Counting, figure: Figure, backend: str
) -> None:
    client = counting.start(make_env(1, {**RECOVERING, "state.backend.type": backend}))
    await_checkpoint(client, 2)
    with pytest.raises(RescaleRefused, match=r"129.*its max parallelism is 128"):
        client.rescale(129)

    watch = Stopwatch()
    client.rescale(3).result(PATIENCE_S)
    figure("rescale from 1 to 3", watch.seconds, "s")
    assert subtasks(client, "count") == [0, 1, 2]
    await_checkpoint(client, 2)
    watch = Stopwatch()
    client.rescale({"count": 2, "records": 1}).result(PATIENCE_S)
    figure("rescale from 3 to 2", watch.seconds, "s")
    assert (subtasks(client, "records"), subtasks(client, "count")) == ([0], [0, 1])

    assert counting.finish(client) == EXACT
    assert client.get_failures() == []


def test_a_job_without_checkpoints_is_rescaled_too(make_env: MakeEnv, counting: Counting) -> None:
    client = counting.start(make_env(2))

    client.rescale(3).result(PATIENCE_S)
    client.rescale(1).result(PATIENCE_S)

    assert subtasks(client, "count") == [0]
    assert counting.finish(client) == EXACT


def test_workers_that_die_while_a_job_is_rescaled_cost_nothing(
    make_env: MakeEnv, counting: Counting
) -> None:
    client = counting.start(make_env(2, dict(RECOVERING)))
    await_checkpoint(client, 2)
    victim = process_of(client, "count")
    os.kill(victim, signal.SIGSTOP)
    growing = client.rescale(3)
    os.kill(victim, signal.SIGKILL)

    growing.result(PATIENCE_S)
    assert subtasks(client, "count") == [0, 1, 2], "the restart has the new parallelism"
    assert len(client.get_failures()) == 1
    await_checkpoint(client)
    shrinking = client.rescale(1)
    await_status(client, JobStatus.RESTARTING)
    chaos = Chaos(client)
    chaos.kill_within(0.0)
    shrinking.result(PATIENCE_S)
    assert chaos.kills == 1

    assert subtasks(client, "count") == [0]
    assert counting.finish(client) == EXACT
