"""How fast generators may go: per second, per checkpoint, shared by all subtasks."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.source import SourceReaderContext, SourceStatus
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.rate_limits import RateLimiterStrategy
from riverrun.core.clock import ManualClock
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.unit.connectors.conftest import MakeReader, drain


def source(strategy: RateLimiterStrategy, count: int | None = None) -> DataGeneratorSource:
    return DataGeneratorSource(int, count, rate_limiter_strategy=strategy)


def test_a_rate_per_second_is_shared_by_the_subtasks(
    make_reader: MakeReader, clock: ManualClock
) -> None:
    readers = [
        make_reader(source(RateLimiterStrategy.per_second(100)), each, 4) for each in range(4)
    ]

    clock.advance(1000)

    assert [len(reader.poll(1000).values) for reader in readers] == [25] * 4


def test_records_per_checkpoint_wait_for_the_next_one(make_reader: MakeReader) -> None:
    reader = make_reader(source(RateLimiterStrategy.per_checkpoint(6)), 0, 2)

    first = reader.poll(100)
    assert first.values == [0, 2, 4]
    assert first.status is SourceStatus.NOTHING_AVAILABLE
    assert reader.poll(100).values == []
    reader.notify_checkpoint_complete(1)
    assert reader.poll(2).values == [6, 8]
    assert reader.poll(2).values == [10]


def test_a_share_below_one_record_comes_every_few_checkpoints(make_reader: MakeReader) -> None:
    reader = make_reader(source(RateLimiterStrategy.per_checkpoint(1)), 0, 2)

    taken = []
    for checkpoint in range(4):
        taken.append(len(reader.poll(10).values))
        reader.notify_checkpoint_complete(checkpoint)

    assert taken == [0, 1, 0, 1]


def test_a_reader_that_has_nothing_left_ends_without_waiting_for_a_checkpoint(
    make_reader: MakeReader,
) -> None:
    reader = make_reader(source(RateLimiterStrategy.per_checkpoint(3), count=3))

    assert reader.poll(3).values == [0, 1, 2]
    assert reader.poll(3).status is SourceStatus.END_OF_INPUT


def test_a_complete_checkpoint_wakes_the_reader(clock: ManualClock) -> None:
    woken: list[int] = []
    context = SourceReaderContext(0, 1, clock, wake=lambda: woken.append(1))
    gated = source(RateLimiterStrategy.per_checkpoint(1))
    reader = gated.create_reader(gated.create_splits(1), context)

    reader.notify_checkpoint_complete(1)

    assert woken == [1]


def test_a_job_gets_so_many_records_for_each_checkpoint() -> None:
    config = {"riverrun.master": "in-process", "execution.checkpointing.interval": "20 ms"}
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        gated = source(RateLimiterStrategy.per_checkpoint(10), count=45)
        env.set_parallelism(2).from_source(gated, None, "gated").add_sink(lambda _: None)
        client = env.execute_async()
        client.get_job_execution_result().result()

    assert client.get_checkpoints().counts.completed >= 4


def test_no_op_is_full_speed(make_reader: MakeReader) -> None:
    assert drain(make_reader(source(RateLimiterStrategy.no_op(), 5))) == list(range(5))


@pytest.mark.parametrize("rate", [0, -1, True, "fast"])
def test_a_rate_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(ValueError, match="rate limiter: the rate is"):
        RateLimiterStrategy.per_second(rate)
    with pytest.raises(ValueError, match="records per checkpoint"):
        RateLimiterStrategy.per_checkpoint(rate)


def test_one_rate_is_enough() -> None:
    strategy: Any = RateLimiterStrategy.per_second(1)
    with pytest.raises(ValueError, match="expected one of them"):
        DataGeneratorSource(int, rate_per_second=5, rate_limiter_strategy=strategy)
    strategy = 5
    with pytest.raises(TypeError, match="expected a RateLimiterStrategy"):
        DataGeneratorSource(int, rate_limiter_strategy=strategy)
