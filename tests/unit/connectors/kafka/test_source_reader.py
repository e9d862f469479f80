"""The reader: runs of one partition, positions after what was given, ends, losses, pauses, commits."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.api.source import SourceReaderContext, SourceStatus
from riverrun.connectors.kafka.connection import KafkaClientError, KafkaCredentialsRefused
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy as Strategy
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.partition_split import KafkaPartitionSplit
from riverrun.connectors.kafka.source import KafkaSourceBuilder
from riverrun.connectors.kafka.source_consumer import OffsetOutOfRange
from riverrun.connectors.kafka.source_reader import KafkaSourceReader
from riverrun.core.clock import Clock, ManualClock, SystemClock
from tests.unit.connectors.kafka.fake_kafka import (
    LATEST,
    FakeBroker,
    FakeConsumer,
    FakeSource,
    building,
    failing_event,
    fill,
    making,
)
from tests.unit.connectors.kafka.source_steps import SteppedSource


def reader_of(
    broker: FakeBroker,
    splits: list[KafkaPartitionSplit],
    builder: KafkaSourceBuilder | None = None,
    runtime: DetachedRuntimeContext | None = None,
    clock: Clock | None = None,
) -> tuple[KafkaSourceReader, FakeConsumer]:
    made: list[FakeConsumer] = []
    plan = (builder or building()).build().reading
    context = SourceReaderContext(0, 1, clock or SystemClock(), runtime)
    reader = KafkaSourceReader(plan, splits, context, making(broker, made))
    reader.open()
    return reader, made[0]


def three_partitions(count: int = 300) -> FakeBroker:
    broker = FakeBroker()
    for index, partition in enumerate(broker.create_topic("t", 3)):
        fill(partition, range(index, 3 * count, 3))
    return broker


def starts(stop: int | None = None) -> list[KafkaPartitionSplit]:
    return [KafkaPartitionSplit("t", partition, 0, stop) for partition in range(3)]


def test_a_run_is_of_one_partition_in_order_with_its_timestamps() -> None:
    reader, _ = reader_of(three_partitions(), starts())
    seen: dict[str, list[int]] = {name: [] for name in reader.split_ids()}
    for _ in range(200):
        polled = reader.poll(40)
        if polled.values:
            assert polled.split is not None
            numbers = [int(value) for value in polled.values]
            assert polled.timestamps == numbers
            seen[polled.split] += numbers
    assert seen == {f"t-{index}": list(range(index, 900, 3)) for index in range(3)}


@given(st.integers(0, 2**32), st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_whatever_was_given_positions_are_right_after_it(seed: int, limits: list[int]) -> None:
    broker = three_partitions(100)
    source = FakeSource(building().set_bounded(LATEST).build(), broker, seed)
    first = SteppedSource(source)
    first.run_calls()
    for limit in limits:
        first.poll(limit)
    rest = SteppedSource(source, 1 + seed % 4, restore=first.checkpoint())
    rest.run_to_end(limits[0])
    assert sorted(map(int, first.values + rest.values)) == list(range(300))


def test_what_follows_the_stopping_offset_is_not_given() -> None:
    reader, consumer = reader_of(
        three_partitions(), starts(stop=10), building().set_bounded(LATEST)
    )
    reader.notify_no_more_splits()
    values: list[int] = []
    finished: list[str] = []
    while (polled := reader.poll(7)).status is not SourceStatus.END_OF_INPUT:
        values += [int(value) for value in polled.values]
        finished += polled.finished_splits
    assert sorted(values) == list(range(30))
    assert sorted(finished) == ["t-0", "t-1", "t-2"]
    assert not consumer.positions


@pytest.mark.parametrize("gaps", ["inside", "at the end", "only"])
def test_a_partition_ends_also_behind_markers_and_aborted_messages(gaps: str) -> None:
    broker = FakeBroker()
    (partition,) = broker.create_topic("t", 1)
    expected = []
    if gaps != "only":
        fill(partition, range(5))
        expected = list(range(5))
    partition.skip(3)
    if gaps == "inside":
        fill(partition, range(5, 8))
        expected = list(range(8))
    source = SteppedSource(FakeSource(building().set_bounded(LATEST).build(), broker))
    assert [int(value) for value in source.run_to_end()] == expected


def test_an_end_that_comes_in_one_batch_with_the_last_messages_loses_none() -> None:
    broker = FakeBroker()
    (partition,) = broker.create_topic("t", 1)
    fill(partition, range(20))
    partition.skip()
    source = FakeSource(building().set_bounded(LATEST).build(), broker)
    stepped = SteppedSource(source)
    source.consumers[0].most_at_once = 10_000
    assert len(stepped.run_to_end()) == 20


def test_partitions_that_are_empty_or_read_end_at_once_and_are_not_fetched() -> None:
    broker = three_partitions()
    splits = [KafkaPartitionSplit("t", 0, 7, 7), KafkaPartitionSplit("t", 1, 0, 0)]
    reader, consumer = reader_of(broker, splits, building().set_bounded(LATEST))
    assert not consumer.positions
    ended = [name for _ in range(2) for name in reader.poll(10).finished_splits]
    assert sorted(ended) == ["t-0", "t-1"]
    assert reader.poll(10).status is SourceStatus.NOTHING_AVAILABLE
    reader.notify_no_more_splits()
    assert reader.poll(10).status is SourceStatus.END_OF_INPUT


def test_a_reader_without_messages_waits_longer_from_time_to_time() -> None:
    broker = FakeBroker()
    (partition,) = broker.create_topic("t", 1)
    reader, _ = reader_of(broker, [KafkaPartitionSplit("t", 0, 0)])
    waits = [reader.poll(10).wait_ms for _ in range(8)]
    assert waits[0] == 1.0
    assert waits == sorted(waits)
    assert waits[-1] == 5.0
    fill(partition, [1])
    assert reader.poll(10).values == ["1"]
    assert reader.poll(10).wait_ms == 1.0


def test_splits_that_are_added_are_read_too() -> None:
    broker = three_partitions(10)
    reader, consumer = reader_of(broker, starts()[:1])
    assert list(reader.split_ids()) == ["t-0"]
    reader.add_splits([KafkaPartitionSplit("t", 2, 8)])
    assert list(reader.split_ids()) == ["t-0", "t-2"]
    assert consumer.positions["t", 2] == 8
    values = [int(value) for _ in range(30) for value in reader.poll(100).values]
    assert sorted(values) == sorted([*range(0, 30, 3), 26, 29])


def test_a_paused_split_stays_paused_when_its_records_are_gone() -> None:
    reader, consumer = reader_of(three_partitions(), starts())
    reader.poll(10)
    reader.pause_or_resume_splits(["t-0"], [])
    consumer.events.append(failing_event("t", 0, KafkaError._AUTO_OFFSET_RESET, "gone"))
    for _ in range(20):
        reader.poll(100)
    assert not consumer.events
    assert consumer.paused == {("t", 0)}


def test_paused_splits_give_nothing_and_lose_nothing() -> None:
    broker = three_partitions()
    reader, consumer = reader_of(broker, starts())
    seen = {reader.poll(5).split}  # a whole batch is fetched now
    reader.pause_or_resume_splits(["t-0", "t-1"], [])
    assert consumer.paused == {("t", 0), ("t", 1)}
    while reader.poll(50).split not in {"t-2", None}:
        raise AssertionError("a paused split gave records")
    for _ in range(100):
        polled = reader.poll(50)
        assert not polled.values or polled.split == "t-2"
    reader.pause_or_resume_splits(["t-2"], ["t-0", "t-1"])
    assert consumer.paused == {("t", 2)}
    seen = {polled.split for _ in range(100) if (polled := reader.poll(50)).values}
    assert seen == {"t-0", "t-1"}
    assert sum(split.offset for split in reader.snapshot_splits()) == 900


def test_offsets_that_were_deleted_are_an_error_with_all_numbers() -> None:
    broker = three_partitions()
    broker.topics["t"][1].delete_before(120)
    offsets = KafkaOffsetsInitializer.committed_offsets()
    reader, _ = reader_of(
        broker, [KafkaPartitionSplit("t", 1, 50)], building().set_starting_offsets(offsets)
    )
    with pytest.raises(
        OffsetOutOfRange, match=r"topic 't' partition 1 has no offset 50 .* 120 to 300.* NONE"
    ):
        reader.poll(10)


@pytest.mark.parametrize(("strategy", "first"), [(Strategy.EARLIEST, 120), (Strategy.LATEST, 300)])
def test_offsets_that_were_deleted_are_replaced_as_the_strategy_says(
    strategy: Strategy, first: int, caplog: pytest.LogCaptureFixture
) -> None:
    broker = three_partitions()
    broker.topics["t"][1].delete_before(120)
    builder = building().set_starting_offsets(KafkaOffsetsInitializer.offsets({}, strategy))
    reader, _ = reader_of(broker, [KafkaPartitionSplit("t", 1, 50)], builder)
    broker_value = 1 + 3 * 300
    reader.poll(10)
    broker.topics["t"][1].add(b"%d" % broker_value)
    values = [int(value) for _ in range(40) for value in reader.poll(100).values]
    assert values == [*range(1 + 3 * first, 900, 3), broker_value]
    assert f"going on at offset {first}" in caplog.text


def test_a_loss_up_to_the_stopping_offset_ends_the_partition() -> None:
    broker = three_partitions()
    broker.topics["t"][0].delete_before(120)
    source = FakeSource(building().set_bounded(LATEST).build(), broker)
    reader = source.create_reader(
        [KafkaPartitionSplit("t", 0, 50, 100)], SourceReaderContext(0, 1, SystemClock())
    )
    reader.open()
    reader.notify_no_more_splits()
    assert reader.poll(10).finished_splits == ("t-0",)
    assert reader.poll(10).status is SourceStatus.END_OF_INPUT


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "that is being read is gone .why"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "cannot read topic 't' partition 2: why"),
    ],
)
def test_partitions_that_cannot_be_read_fail_the_job(code: int, text: str) -> None:
    reader, consumer = reader_of(three_partitions(), starts())
    consumer.events.append(failing_event("t", 2, code, "why"))
    with pytest.raises(KafkaClientError, match=text):
        reader.poll(10)


def test_refused_credentials_fail_the_job_and_brokers_that_are_down_do_not() -> None:
    reader, consumer = reader_of(three_partitions(), starts())
    consumer.errors.append(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert reader.poll(10).values
    for _ in range(200):
        reader.poll(100)
    consumer.errors.append(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    with pytest.raises(KafkaCredentialsRefused, match="wrong password"):
        reader.poll(10)


def test_an_event_that_passes_is_only_noted(caplog: pytest.LogCaptureFixture) -> None:
    reader, consumer = reader_of(three_partitions(), starts())
    consumer.events.append(failing_event("t", 2, KafkaError._TRANSPORT, "broker gone"))
    assert reader.poll(10).values
    assert "broker gone" in caplog.text


def test_completed_checkpoints_are_committed_to_the_group() -> None:
    reader, consumer = reader_of(three_partitions(), starts())
    given = reader.poll(10).split
    splits = {split.name: split.offset for split in reader.snapshot_splits()}
    assert given is not None
    assert [name for name, offset in splits.items() if offset > 0] == [given]
    for _ in range(20):
        reader.poll(100)
    reader.notify_checkpoint_complete(1)
    assert consumer.commits == [
        {("t", index): splits[f"t-{index}"] for index in range(3)},
    ]
    reader.notify_checkpoint_complete(2)
    assert len(consumer.commits) == 1


def test_the_group_is_told_only_of_checkpoints_that_are_complete() -> None:
    reader, consumer = reader_of(three_partitions(), starts())
    taken: dict[int, dict[tuple[str, int], int]] = {}
    for checkpoint in range(1, 5):
        reader.poll(10)
        reader.prepare_snapshot(checkpoint)
        splits = reader.snapshot_splits()
        taken[checkpoint] = {(each.topic, each.partition): each.offset for each in splits}
    reader.notify_checkpoint_complete(1)
    reader.notify_checkpoint_complete(3)  # the second was given up
    assert consumer.commits == [taken[1], taken[3]]


def test_partitions_that_have_ended_are_committed_once_more() -> None:
    reader, consumer = reader_of(
        three_partitions(), starts(stop=10), building().set_bounded(LATEST)
    )
    reader.notify_no_more_splits()
    while reader.poll(100).status is not SourceStatus.END_OF_INPUT:
        pass
    assert reader.snapshot_splits() == []
    reader.notify_checkpoint_complete(1)
    assert consumer.commits == [{("t", index): 10 for index in range(3)}]
    reader.snapshot_splits()
    reader.notify_checkpoint_complete(2)
    assert len(consumer.commits) == 1


@pytest.mark.parametrize(
    "properties", [{"commit.offsets.on.checkpoint": "false"}, {"group.id": ""}]
)
def test_without_a_group_or_wish_nothing_is_committed(properties: dict[str, str]) -> None:
    builder = building().set_properties(properties)
    if not properties.get("group.id", "x"):
        builder = building()
        builder._properties.pop("group.id")
    reader, consumer = reader_of(three_partitions(), starts(), builder)
    reader.poll(10)
    reader.snapshot_splits()
    reader.notify_checkpoint_complete(1)
    assert not consumer.commits


def test_metrics_tell_offsets_commits_and_what_waits(caplog: pytest.LogCaptureFixture) -> None:
    runtime = DetachedRuntimeContext("source", 0, 1)
    clock = ManualClock()
    reader, consumer = reader_of(three_partitions(), starts(), runtime=runtime, clock=clock)
    while reader.poll(2048).values:
        pass
    fill(consumer.broker.topics["t"][0], range(7))
    consumer.paused.add(("t", 0))
    clock.advance(1000)
    reader.poll(10)
    reader.snapshot_splits()
    reader.notify_checkpoint_complete(1)
    consumer.commit_error = KafkaError(KafkaError.REBALANCE_IN_PROGRESS, "somebody else")
    reader.snapshot_splits()
    reader.notify_checkpoint_complete(2)
    metrics = _values(runtime)
    assert metrics["pendingRecords"] == 7
    assert metrics["KafkaSourceReader.commitsSucceeded"] == 1
    assert metrics["KafkaSourceReader.commitsFailed"] == 1
    assert metrics["KafkaSourceReader.topic.t.partition.1.currentOffset"] == 299
    assert metrics["KafkaSourceReader.topic.t.partition.1.committedOffset"] == 300
    assert "somebody else" in caplog.text
    reader.close()
    assert consumer.closed
    assert _values(runtime)["pendingRecords"] == 7


def _values(runtime: DetachedRuntimeContext) -> dict[str, Any]:
    return dict(runtime.get_metrics_group()._registry.snapshot())
