"""Where to begin and where to stop."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from riverrun.connectors.kafka.connection import Connection
from riverrun.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    OffsetsNotFound,
)
from riverrun.connectors.kafka.offsets_lookup import BrokerLookup
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.core.errors import ProgramError
from tests.unit.connectors.kafka.fake_kafka import FakeBroker, fill

A, B = KafkaTopicPartition("t", 0), KafkaTopicPartition("t", 1)
Strategy = KafkaOffsetResetStrategy


@pytest.fixture
def broker() -> FakeBroker:
    broker = FakeBroker()
    first, second = broker.create_topic("t", 2)
    fill(first, range(100, 110))
    first.delete_before(3)
    fill(second, range(100, 105))
    broker.committed_offsets[A] = 6
    return broker


@pytest.mark.parametrize(
    ("initializer", "expected"),
    [
        (KafkaOffsetsInitializer.earliest(), {A: 3, B: 0}),
        (KafkaOffsetsInitializer.latest(), {A: 10, B: 5}),
        (KafkaOffsetsInitializer.timestamp(0), {A: 3, B: 0}),
        (KafkaOffsetsInitializer.timestamp(104), {A: 4, B: 4}),
        (KafkaOffsetsInitializer.timestamp(107), {A: 7, B: 5}),
        (KafkaOffsetsInitializer.committed_offsets(Strategy.EARLIEST), {A: 6, B: 0}),
        (KafkaOffsetsInitializer.committed_offsets(Strategy.LATEST), {A: 6, B: 5}),
        (KafkaOffsetsInitializer.offsets({B: 2}), {A: 3, B: 2}),
        (KafkaOffsetsInitializer.offsets({B: 2}, Strategy.LATEST), {A: 10, B: 2}),
        (
            KafkaOffsetsInitializer.offsets({A: 5, B: 2}, Strategy.NONE),
            {A: 5, B: 2},
        ),
    ],
)
def test_every_partition_has_an_offset(
    broker: FakeBroker, initializer: KafkaOffsetsInitializer, expected: dict[Any, int]
) -> None:
    travelled = pickle.loads(pickle.dumps(initializer))
    assert travelled.get_partition_offsets([A, B], broker) == expected


class Busy(FakeBroker):
    """A record comes after each answer."""

    def __init__(self, idle: FakeBroker) -> None:
        super().__init__()
        self.topics = idle.topics

    def latest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        found = super().latest(partitions)
        self._at(B).add(b"new", 1000)
        return found

    def at_time(
        self, partitions: Sequence[KafkaTopicPartition], timestamp: int
    ) -> dict[KafkaTopicPartition, int]:
        found = super().at_time(partitions, timestamp)
        self._at(B).add(b"new", 1000)
        return found


def test_no_record_is_missed_that_comes_while_offsets_of_a_time_are_looked_up(
    broker: FakeBroker,
) -> None:
    found = KafkaOffsetsInitializer.timestamp(500).get_partition_offsets([A, B], Busy(broker))
    assert found[B] <= 5


@pytest.mark.parametrize(
    ("initializer", "lack"),
    [
        (KafkaOffsetsInitializer.committed_offsets(), "no committed offset"),
        (KafkaOffsetsInitializer.offsets({A: 1}, Strategy.NONE), "no offset given"),
    ],
)
def test_without_a_strategy_partitions_without_an_offset_are_named(
    broker: FakeBroker, initializer: KafkaOffsetsInitializer, lack: str
) -> None:
    with pytest.raises(OffsetsNotFound, match=rf"{lack} for topic 't' partition 1, .* NONE"):
        initializer.get_partition_offsets([A, B], broker)


def test_a_committed_offset_that_cannot_be_told_is_not_taken_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing:
        def __init__(self, properties: Any, logger: Any) -> None: ...

        def committed(self, asked: list[TopicPartition], timeout: float) -> list[Any]:
            del timeout
            error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
            return [
                SimpleNamespace(topic=a.topic, partition=a.partition, offset=-1001, error=error)
                for a in asked
            ]

        def close(self) -> None: ...

    monkeypatch.setattr("confluent_kafka.Consumer", Refusing)
    lookup = BrokerLookup(Connection("KafkaSource", {"bootstrap.servers": "b:1"}))
    with pytest.raises(
        OffsetsNotFound, match=r"committed offset of topic 't' partition 0, and 'b:1'"
    ):
        lookup.committed([A])


def test_offsets_of_partitions_that_nobody_asks_for_are_left_out(broker: FakeBroker) -> None:
    given = KafkaOffsetsInitializer.offsets({A: 5, KafkaTopicPartition("other", 0): 1})
    assert given.get_partition_offsets([A], broker) == {A: 5}


@pytest.mark.parametrize(
    ("initializer", "strategy"),
    [
        (KafkaOffsetsInitializer.earliest(), Strategy.EARLIEST),
        (KafkaOffsetsInitializer.latest(), Strategy.LATEST),
        (KafkaOffsetsInitializer.timestamp(5), Strategy.LATEST),
        (KafkaOffsetsInitializer.committed_offsets(), Strategy.NONE),
        (KafkaOffsetsInitializer.offsets({}), Strategy.EARLIEST),
    ],
)
def test_the_strategy_for_lost_offsets_is_flink_s(
    initializer: KafkaOffsetsInitializer, strategy: KafkaOffsetResetStrategy
) -> None:
    assert initializer.get_auto_offset_reset_strategy() is strategy


@pytest.mark.parametrize(
    "make",
    [
        lambda: KafkaOffsetsInitializer.timestamp(-1),
        lambda: KafkaOffsetsInitializer.timestamp("now"),  # type: ignore[arg-type]
        lambda: KafkaOffsetsInitializer.offsets({A: -1}),
        lambda: KafkaOffsetsInitializer.offsets({("t", 0): 1}),  # type: ignore[dict-item]
        lambda: KafkaOffsetsInitializer.offsets({}, "earliest"),  # type: ignore[arg-type]
        lambda: KafkaOffsetsInitializer.committed_offsets("none"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_offset_time_or_strategy_is_refused(make: Any) -> None:
    with pytest.raises(
        ProgramError, match=r"KafkaOffsetsInitializer.*got|KafkaOffsetsInitializer.* is "
    ):
        make()
