"""Versions of a small job that stop with savepoints and go on from those of others, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import StateDescriptor, ValueStateDescriptor
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.serde.types import Types
from tests.compatibility.commit_sink import CommitSink, committed
from tests.compatibility.held_source import HOLD, HeldSource

KEYS: Final = 4
PER_KEY: Final = 24
PATIENCE_S: Final = 30.0
NOTHING: Final[Mapping[str, str]] = {}
ALLOW: Final = {"execution.state-recovery.ignore-unclaimed-state": "true"}

Build: TypeAlias = Callable[[StreamExecutionEnvironment], DataStream]
"""Defines a version of the job; gives the stream of its rows."""


class Versions:
    """Runs versions of a job one after the other; all their rows go to one place."""

    def __init__(self, folder: Path) -> None:
        self._results = folder / "results"
        self._savepoints = folder / "savepoints"

    def stop_at(
        self,
        record: int,
        build: Build,
        parallelism: int = 2,
        *,
        start_from: str | None = None,
        splits: int = KEYS,
        config: Mapping[str, str] = NOTHING,
    ) -> str:
        """Run until every key stands at ``record``, and stop there with a savepoint."""
        HOLD.close(record, splits)
        try:
            env, client = self.start(build, parallelism, start_from=start_from, config=config)
            with env:
                _await_hold(client)
                savepoint = client.stop_with_savepoint(False, str(self._savepoints)).result(
                    PATIENCE_S
                )
                assert client.get_job_status().result() is JobStatus.FINISHED
        finally:
            HOLD.open()
        return savepoint

    def finish(
        self,
        build: Build,
        parallelism: int = 2,
        *,
        start_from: str | None = None,
        config: Mapping[str, str] = NOTHING,
    ) -> list[Any]:
        """Run to the end; the rows of all versions, sorted, but for what the sink says of restarts."""
        env, client = self.start(build, parallelism, start_from=start_from, config=config)
        with env:
            client.get_job_execution_result().result(PATIENCE_S)
        rows = map(json.loads, committed(self._results))
        return sorted((row for row in rows if row[0] != "prepared before"), key=json.dumps)

    def start(
        self, build: Build, parallelism: int, *, start_from: str | None, config: Mapping[str, str]
    ) -> tuple[StreamExecutionEnvironment, JobClient]:
        """Start a version; raises what refuses it."""
        given = {"riverrun.master": "in-process", **config}
        if start_from is not None:
            given["execution.state-recovery.path"] = start_from
        env = StreamExecutionEnvironment.get_execution_environment(given)
        env.set_parallelism(parallelism)
        build(env).sink_to(CommitSink(str(self._results))).uid("rows")
        return env, env.execute_async("spend")


def _await_hold(client: JobClient) -> None:
    """Until every key stands where it should; raises what ends the job before."""
    while not HOLD.reached.wait(0.01):
        if client.get_job_status().result().is_globally_terminal_state():
            client.get_job_execution_result().result(PATIENCE_S)


def records(env: StreamExecutionEnvironment) -> DataStream:
    """Pairs of key and number."""
    return env.from_source(
        HeldSource("records", KEYS, PER_KEY, patient=False), None, "records"
    ).uid("records")


def key_of(record: tuple[int, int]) -> int:
    """The key of a record."""
    return record[0]


class Fold(KeyedProcessFunction):
    """Folds the records of each key into a state; tells what is in it with the last.

    Args:
        ask: which method of the context gives the state.
        descriptor: the state.
        put: puts a record into it.
        tell: what is in it, for JSON.
    """

    def __init__(
        self,
        ask: str,
        descriptor: StateDescriptor,
        put: Callable[[Any, int], None],
        tell: Callable[[Any], Any],
    ) -> None:
        self._ask, self._descriptor, self._put, self._tell = ask, descriptor, put, tell

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = getattr(runtime_context, self._ask)(self._descriptor)

    def process_element(
        self, value: tuple[int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Any]:
        self._put(self._state, value[1])
        if value[1] == PER_KEY - 1:
            yield [value[0], self._tell(self._state)]


def add_one(state: Any, number: int) -> None:
    """Count, in a value."""
    del number
    state.update((state.value() or 0) + 1)


def counted(name: str = "count", type_info: Any = Types.LONG) -> Fold:
    """How many records a key has, in a value state."""
    described = ValueStateDescriptor(name, None if type_info is None else type_info())
    return Fold("get_state", described, add_one, lambda state: state.value())


def first_version(env: StreamExecutionEnvironment) -> DataStream:
    """Counts the records of each key, beside a stateless operator on each side."""
    passed = records(env).map(lambda record: record).uid("passed")
    counts = passed.key_by(key_of).process(counted()).uid("count").name("count")
    return counts.map(lambda row: row).uid("told")


TOTALS: Final = [[key, PER_KEY] for key in range(KEYS)]
"""What comes of it, however often it is stopped."""
