"""Sinks with a global committer under every fault: each checkpoint is committed whole and once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from riverrun.api.sink import GlobalCommitter, Sink, SinkWriter, SinkWriterContext
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.simulate import Variety, simulate

TABLE: dict[int, list[Any]] = {}
"""What the table holds, by checkpoint: the commits of a store that knows nothing of the job."""
NUMBERS = [value * 10 for value in range(1, 21)]


class TableSink(Sink[Any]):
    commits_globally = True

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _TableWriter(context)

    def create_global_committer(self, context: SinkWriterContext) -> GlobalCommitter:
        assert context.parallelism == 1
        return _TableCommitter()


class _TableWriter(SinkWriter[Any]):
    def __init__(self, context: SinkWriterContext) -> None:
        self._held: list[Any] = [each for kept in context.restored for each in kept]

    def write(self, value: Any, timestamp: int | None) -> None:
        self._held.append(value)

    def flush(self, *, end_of_input: bool) -> None:
        self._end = end_of_input

    def prepare_commit(self) -> list[Any]:
        """The last value stays behind until the end of input."""
        ready, self._held = (self._held, []) if self._end else (self._held[:-1], self._held[-1:])
        return [("file", ready)] if ready else []

    def snapshot_state(self) -> list[Any]:
        return [self._held] if self._held else []


class _TableCommitter(GlobalCommitter):
    def commit(self, checkpoint: int, committables: Sequence[Any]) -> None:
        found = [value for _, values in committables for value in values]
        before = TABLE.setdefault(checkpoint, found)
        assert before == found, f"checkpoint {checkpoint} was {before!r} and is {found!r}"


def written(env: StreamExecutionEnvironment) -> DataStream:
    numbers = env.from_sequence(1, 20).rebalance().map(lambda value: value * 10)
    numbers.sink_to(TableSink()).name("table").uid("table")
    return numbers


def check(values: list[Any]) -> None:
    found = sorted(value for commit in TABLE.values() for value in commit)
    TABLE.clear()
    assert found == NUMBERS


def test_every_record_is_committed_once_under_every_fault() -> None:
    def by_two(env: StreamExecutionEnvironment) -> DataStream:
        env.set_parallelism(2)
        return written(env)

    report = simulate(by_two, seeds=range(60), check=check)

    assert all(report.faults.values()), report.faults


def test_every_record_is_committed_once_across_rescales() -> None:
    report = simulate(written, seeds=range(25), check=check, variety=Variety(rescales=3))

    assert report.rescales > 5


def test_the_committer_has_the_name_of_its_sink() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    written(env)

    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["type"] for node in nodes][-2:] == ["table: Writer", "Sink: table: Committer"]
    assert nodes[-1]["parallelism"] == 1
