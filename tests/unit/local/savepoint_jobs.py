"""A job for tests of savepoints: it waits at one record until the test has asked for what it wants."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from tests.spark.allround.file_sink import FileSink, committed

COUNT: Final = 3_000
KEYS: Final = 7
PATIENCE_S: Final = 30


class Gate:
    """One record waits here, until the test has done what it wants to."""

    def __init__(self) -> None:
        self.record = -1
        self.reached = threading.Event()
        self.open = threading.Event()

    def close_at(self, record: int) -> None:
        """Let ``record`` wait."""
        self.record = record
        self.reached.clear()
        self.open.clear()


GATE: Final = Gate()


def through_gate(value: int) -> int:
    """Wait for the test at one record."""
    if value == GATE.record:
        GATE.record = -1
        GATE.reached.set()
        assert GATE.open.wait(PATIENCE_S)
    return value


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        seen = (self._seen.value() or 0) + 1
        self._seen.update(seen)
        yield ctx.get_current_key(), seen


def key_of(value: int) -> int:
    """The key of a record."""
    return value % KEYS


def numbers(env: StreamExecutionEnvironment, count: int = COUNT) -> DataStream:
    """The numbers below ``count``, some at a time."""
    source = DataGeneratorSource(lambda index: index, count=count, rate_per_second=10_000)
    return env.from_source(source, None, "numbers").uid("numbers")


def counting(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Number the records of each key; the result goes to ``folder`` exactly once."""
    gated = numbers(env).map(through_gate).uid("gate").rebalance()
    counted = gated.key_by(key_of).process(Count()).uid("count")
    counted.sink_to(FileSink(str(folder))).uid("files")


EXACT: Final = Counter(
    (key, number) for key in range(KEYS) for number in range(1, len(range(key, COUNT, KEYS)) + 1)
)


class Jobs:
    """Starts jobs in this process, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.savepoints = folder / "savepoints"
        self.checkpoints = folder / "checkpoints"
        self._environments: list[StreamExecutionEnvironment] = []

    def start(
        self,
        parallelism: Any = 2,
        build: Any = counting,
        *,
        start_from: str | Path | None = None,
        **config: Any,
    ) -> JobClient:
        """Start the job that ``build(env, results)`` defines, with ``config``."""
        given = {"riverrun.master": "in-process", **config}
        given.setdefault("execution.checkpointing.savepoint-dir", str(self.savepoints))
        given.setdefault("execution.checkpointing.dir", str(self.checkpoints))
        if start_from is not None:
            given["execution.state-recovery.path"] = str(start_from)
        env = StreamExecutionEnvironment.get_execution_environment(given)
        env.set_parallelism(parallelism)
        self._environments.append(env)
        build(env, self.results)
        return env.execute_async("counting")

    def run(self, *args: Any, **kwargs: Any) -> JobClient:
        """Start the job and wait for its end."""
        client = self.start(*args, **kwargs)
        client.get_job_execution_result().result(PATIENCE_S)
        return client

    def stop_at(self, record: int, *args: Any, drain: Any = False, **kwargs: Any) -> str:
        """Start the job, stop it at ``record`` with a savepoint, and say where that is."""
        GATE.close_at(record)
        client = self.start(*args, **kwargs)
        assert GATE.reached.wait(PATIENCE_S)
        stopping = client.stop_with_savepoint(drain)
        GATE.open.set()
        savepoint = stopping.result(PATIENCE_S)
        assert client.get_job_status().result() is JobStatus.FINISHED
        return savepoint

    def committed(self) -> Counter[Any]:
        """What all the jobs wrote."""
        return Counter(committed(self.results))

    def close(self) -> None:
        """End everything."""
        GATE.open.set()
        for env in self._environments:
            env.close()
