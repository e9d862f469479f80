"""Jobs in this process take checkpoints, fail, and go on from the latest one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.connectors.collect import CollectSink
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.errors import CheckpointFailed, JobFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient

MakeEnv = Callable[..., StreamExecutionEnvironment]

INTERVAL = {"execution.checkpointing.interval": "10 ms"}
AT_ONCE = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "0 ms",
}


@pytest.fixture
def make_env() -> Iterator[MakeEnv]:
    made: list[StreamExecutionEnvironment] = []

    def make(**config: str) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment(
            {"riverrun.master": "in-process", **config}
        )
        env.set_parallelism(2)
        made.append(env)
        return env

    yield make
    for env in made:
        env.close()


class FailsAt(MapFunction):
    """Raises at one record, in the first attempts."""

    def __init__(self, record: int, attempts: int = 1) -> None:
        self._record = record
        self._attempts = attempts

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if value == self._record and self._attempt < self._attempts:
            raise ValueError(f"attempt {self._attempt} fails at {value}")
        return value


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        seen = (self._seen.value() or 0) + 1
        self._seen.update(seen)
        yield ctx.get_current_key(), seen


def counted(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: value % 3).process(Count())


def collected(stream: DataStream) -> Counter[Any]:
    with stream.execute_and_collect() as results:
        return Counter(results)


def slowly(env: StreamExecutionEnvironment) -> DataStream:
    """The numbers below 19,998, in two seconds of virtual time."""
    source = DataGeneratorSource(lambda index: index, count=19_998, rate_per_second=10_000)
    return env.from_source(source, None, "numbers")


EXACT = Counter((key, number) for key in range(3) for number in range(1, 6667))


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_every_record_counts_once_although_the_job_fails(make_env: MakeEnv, backend: str) -> None:
    env = make_env(**INTERVAL, **AT_ONCE, **{"state.backend.type": backend})
    numbers = slowly(env).map(FailsAt(15_000, attempts=2)).rebalance()

    assert collected(counted(numbers)) == EXACT


def test_checkpoints_come_about_while_a_source_is_busy(make_env: MakeEnv) -> None:
    env = make_env(**INTERVAL)
    env.from_sequence(0, 100_000).rebalance().map(lambda value: value).add_sink(lambda _: None)

    client = env.execute_async()
    client.get_job_execution_result().result()

    counts = client.get_checkpoints().counts
    assert counts.completed > 3
    assert counts.failed == counts.in_progress == 0


def test_a_source_that_waits_long_does_not_hold_up_its_checkpoints(make_env: MakeEnv) -> None:
    env = make_env(**{"execution.checkpointing.interval": "60 s"})
    rare = DataGeneratorSource(lambda index: index, count=3, rate_per_second=1 / 600)
    env.from_source(rare, None, "rare").add_sink(lambda _: None)

    client = env.execute_async()
    client.get_job_execution_result().result()

    assert client.get_checkpoints().counts.completed >= 10


def test_the_story_of_a_failure_is_kept(make_env: MakeEnv) -> None:
    env = make_env(**INTERVAL, **AT_ONCE)
    env.from_sequence(1, 50).map(FailsAt(20, attempts=2)).add_sink(lambda _: None)

    client = env.execute_async()
    client.get_job_execution_result().result()

    told = [(record.attempt, record.failure.message) for record in client.get_failures()]
    assert told == [(0, "attempt 0 fails at 20"), (1, "attempt 1 fails at 20")]


def test_a_job_fails_for_good_when_its_restarts_are_used_up(make_env: MakeEnv) -> None:
    env = make_env(**INTERVAL, **AT_ONCE)

    with pytest.raises(JobFailed, match="attempt 3 fails at 20") as caught:
        collected(env.from_sequence(1, 50).map(FailsAt(20, attempts=9)))

    assert "3 restarts are allowed" in str(caught.value.failure.hint)


def test_without_checkpoints_the_first_failure_is_the_last(make_env: MakeEnv) -> None:
    env = make_env()

    with pytest.raises(JobFailed, match="attempt 0"):
        collected(env.from_sequence(1, 50).map(FailsAt(20)))


def test_results_come_when_their_checkpoint_is_complete(make_env: MakeEnv) -> None:
    env = make_env(**{"execution.checkpointing.interval": "1 h"})
    stream = env.from_sequence(1, 50).map(FailsAt(40, attempts=9))
    env.configure({"restart-strategy.type": "none"})
    seen = []

    with pytest.raises(JobFailed), stream.execute_and_collect() as results:  # noqa: PT012
        for value in results:
            seen.append(value)  # noqa: PERF402  (the loop raises at its end)

    assert seen == []


def endless(env: StreamExecutionEnvironment) -> JobClient:
    source = DataGeneratorSource(lambda index: index, rate_per_second=1000)
    counted(env.from_source(source, None, "numbers")).add_sink(lambda _: None)
    return env.execute_async("endless")


def test_a_checkpoint_on_demand_says_where_it_is(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(
        **{
            "execution.checkpointing.interval": "1000 h",
            "execution.checkpointing.dir": str(tmp_path),
        }
    )
    client = endless(env)

    place = client.trigger_checkpoint(timeout=30)
    client.cancel().result()

    assert Path(place).is_relative_to(tmp_path)
    assert not Path(place).exists(), "nobody asked to keep it"


def test_a_job_that_takes_no_checkpoints_refuses_to_take_one(make_env: MakeEnv) -> None:
    client = endless(make_env())

    with pytest.raises(CheckpointFailed, match="takes no checkpoints"):
        client.trigger_checkpoint(timeout=30)
    client.cancel().result()

    assert client.get_checkpoints() is None


def test_a_checkpoint_after_the_end_is_refused(make_env: MakeEnv) -> None:
    env = make_env(**INTERVAL)
    env.from_sequence(1, 5).add_sink(lambda _: None)
    client = env.execute_async()
    client.get_job_execution_result().result()

    with pytest.raises(CheckpointFailed, match="it is FINISHED"):
        client.trigger_checkpoint(timeout=30)


def test_another_run_goes_on_where_a_retained_checkpoint_is(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    kept = {
        "execution.checkpointing.interval": "1000 h",
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }

    def numbers(env: StreamExecutionEnvironment) -> DataStream:
        source = DataGeneratorSource(lambda index: index, rate_per_second=1_000)
        stream = env.from_source(source, None, "numbers").uid("numbers")
        return stream.key_by(lambda value: value % 3).process(Count()).uid("count")

    env = make_env(**kept)
    numbers(env).add_sink(lambda _: None)
    client = env.execute_async()
    while client.get_checkpoints().counts.completed < 2:
        place = client.trigger_checkpoint(timeout=30)
    client.cancel().result()

    again = make_env(**INTERVAL, **{"execution.state-recovery.path": place})
    going_on = numbers(again).execute_and_collect(limit=300)

    for key in range(3):
        found = [number for of, number in going_on if of == key]
        assert found[0] > 1
        assert found == list(range(found[0], found[0] + len(found)))


def test_a_job_whose_master_is_gone_is_resumed(make_env: MakeEnv, tmp_path: Path) -> None:
    # A job that fails for good stands for one whose process is gone: both leave their checkpoints.
    kept = {
        **INTERVAL,
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "none",
        "riverrun.job-id": "0123456789abcdef0123456789abcdef",
    }
    env = make_env(**kept)
    broken = counted(slowly(env).map(FailsAt(15_000)))
    seen: Counter[Any] = Counter()
    with pytest.raises(JobFailed), broken.execute_and_collect() as results:
        seen.update(results)

    again = make_env(**kept, **{"riverrun.resume": "true"})
    rest = collected(counted(slowly(again).map(FailsAt(-1))))

    assert sum(seen.values()) > 1000
    assert sum(rest.values()) < sum(EXACT.values()) - 1000
    # A new client cannot know what was delivered to the old one of the checkpoint it starts from.
    assert seen | rest == EXACT


def test_a_cancelled_job_leaves_nothing_behind(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(**INTERVAL, **{"execution.checkpointing.dir": str(tmp_path)})
    client = endless(env)
    client.trigger_checkpoint(timeout=30)

    client.cancel().result()

    assert client.get_job_status().result() is JobStatus.CANCELED
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_handler_of_the_client_that_raises_ends_the_job_for_good(make_env: MakeEnv) -> None:
    def refuse(subtask: int, values: Any) -> None:
        raise OSError("the client's disk is full")

    env = make_env(**INTERVAL, **AT_ONCE)
    env.from_sequence(1, 50).sink_to(CollectSink(refuse))

    with pytest.raises(JobFailed, match="the client's disk is full"):
        env.execute()


def test_state_that_cannot_be_stored_ends_the_job(make_env: MakeEnv) -> None:
    class Keeps(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self._kept = runtime_context.get_state(ValueStateDescriptor("kept"))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            self._kept.update(threading.Lock())

    env = make_env(**INTERVAL, **AT_ONCE)
    slowly(env).key_by(lambda value: value % 3).process(Keeps()).add_sink(lambda _: None)

    with pytest.raises(JobFailed, match="lock"):
        env.execute()
