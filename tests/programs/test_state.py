"""State and checkpoints through the front door, on both shells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.checkpointed import CheckpointedFunction
from riverrun.api.functions import FlatMapFunction, KeyedProcessFunction, MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from riverrun.core.errors import JobFailed
from riverrun.core.time import Time
from riverrun.serde.types import Types
from tests.programs.conftest import MakeEnv

CHECKPOINTS = {"execution__checkpointing__interval": "100 ms"}


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.seen.value() or 0) + 1
        self.seen.update(count)
        yield ctx.get_current_key(), count


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_every_key_counts_for_itself(make_env: MakeEnv, backend: str) -> None:
    env = make_env(2, state__backend__type=backend, **CHECKPOINTS)

    counted = env.from_sequence(0, 999).key_by(lambda value: value % 7).process(Count())

    expected = Counter((key, n + 1) for key in range(7) for n in range(len(range(key, 1000, 7))))
    assert Counter(counted.execute_and_collect(limit=2000)) == expected


class FirstSeen(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
        described = MapStateDescriptor("pages", Types.STRING(), Types.BOOLEAN())
        described.enable_time_to_live(ttl)
        self.pages = runtime_context.get_map_state(described)
        self.list = runtime_context.get_list_state(ListStateDescriptor("all", Types.STRING()))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda left, right: left + right, Types.LONG())
        )

    def flat_map(self, value: tuple[str, str]) -> Iterator[Any]:
        self.sum.add(1)
        if value[1] not in self.pages:
            self.pages[value[1]] = True
            self.list.add(value[1])
            yield value[0], list(self.list), self.sum.get()


def test_functions_on_keyed_streams_keep_state_of_their_key(make_env: MakeEnv) -> None:
    visits = [("ada", "/"), ("bob", "/"), ("ada", "/"), ("ada", "/pay"), ("bob", "/")]
    env = make_env(1)

    seen = env.from_collection(visits).key_by(lambda visit: visit[0]).flat_map(FirstSeen())

    assert seen.execute_and_collect(limit=10) == [
        ("ada", ["/"], 1),
        ("bob", ["/"], 1),
        ("ada", ["/", "/pay"], 3),
    ]


class FailsOnce(MapFunction, CheckpointedFunction):
    """Fails at one record, unless it was restored or a file says that it has failed before."""

    def __init__(self, marker: Path, at: int) -> None:
        self.marker, self.at, self.total = marker, at, 0

    def initialize_state(self, context: Any) -> None:
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("total"))
        self.total = sum(self.kept.get())

    def snapshot_state(self, context: Any) -> None:
        self.kept.update([self.total])

    def map(self, value: int) -> int:
        if value == self.at and not self.marker.exists():
            self.marker.touch()
            raise ValueError("once")
        self.total += 1
        return value


def test_a_job_goes_on_after_a_failure_with_each_record_once(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    restarts = {
        "restart_strategy__type": "fixed-delay",
        "restart_strategy__fixed_delay__delay": "10 ms",
    }
    env = make_env(2, **CHECKPOINTS, **restarts)

    values = env.from_sequence(1, 3000).map(FailsOnce(tmp_path / "failed", 2500))
    counted = values.key_by(lambda value: value % 5).process(Count())

    expected = Counter((key, n) for key in range(5) for n in range(1, 601))
    assert Counter(counted.execute_and_collect(limit=9000)) == expected
    assert (tmp_path / "failed").exists()


class Wrong(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.state.update("a word")
        return [value]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_state_that_does_not_fit_its_type_ends_the_job(make_env: MakeEnv, backend: str) -> None:
    env = make_env(1, state__backend__type=backend, **CHECKPOINTS)
    stream = env.from_sequence(0, 10**9).key_by(lambda value: value % 7).process(Wrong())

    with pytest.raises(JobFailed, match=r"(?s)number.*a word|a word.*number"):
        stream.execute_and_collect(limit=10**9)
