"""Partitions: who reads which, what is found, what changed."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.kafka.partition_assignment import changes, reader_of
from riverrun.connectors.kafka.partition_discovery import (
    MatchingTopics,
    NamedPartitions,
    NamedTopics,
    TopicNotFound,
)
from riverrun.connectors.kafka.partition_split import KafkaPartitionSplit, KafkaTopicPartition
from riverrun.core.errors import ProgramError
from tests.unit.connectors.kafka.fake_kafka import FakeBroker

P = KafkaTopicPartition
TOPICS = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789._-", min_size=1, max_size=40)
PARTITIONS = st.sets(st.builds(P, st.sampled_from(["a", "b"]), st.integers(0, 5)))


@pytest.mark.parametrize(
    ("topic", "of_7"), [("orders", 3), ("payments", 4), ("clicks", 0), ("a-b_c.D9", 2)]
)
def test_the_first_reader_of_a_topic_is_the_one_that_java_s_hash_gives(
    topic: str, of_7: int
) -> None:
    assert reader_of(P(topic, 0), 7) == of_7


@given(TOPICS, st.integers(1, 50), st.integers(1, 100))
def test_a_topic_s_partitions_are_spread_evenly(
    topic: str, parallelism: int, partitions: int
) -> None:
    readers = [reader_of(P(topic, each), parallelism) for each in range(partitions)]
    counts = [readers.count(reader) for reader in range(parallelism)]
    assert max(counts) - min(counts) <= 1


@given(PARTITIONS, PARTITIONS)
def test_changes_make_one_look_from_the_other(
    before: set[KafkaTopicPartition], now: set[KafkaTopicPartition]
) -> None:
    difference = changes(before, now)
    assert (before - set(difference.vanished)) | set(difference.new) == now
    assert list(difference.new) == sorted(difference.new)
    assert not set(difference.new) & before


def test_named_topics_are_read_whole() -> None:
    broker = FakeBroker()
    broker.create_topic("a", 2)
    broker.create_topic("b", 1)
    assert NamedTopics(("a",)).find(broker) == {P("a", 0), P("a", 1)}


def test_a_topic_that_is_missing_is_named() -> None:
    broker = FakeBroker()
    broker.create_topic("orders", 2)
    with pytest.raises(TopicNotFound, match=r"no topic 'oders', 'payments'"):
        NamedTopics(("oders", "orders", "payments")).find(broker)
    with pytest.raises(TopicNotFound, match=r"no topic 'oders'"):
        NamedPartitions(frozenset({P("oders", 0)})).find(broker)


def test_a_partition_that_is_missing_is_named_with_how_many_there_are() -> None:
    broker = FakeBroker()
    broker.create_topic("orders", 2)
    assert NamedPartitions(frozenset({P("orders", 1)})).find(broker) == {P("orders", 1)}
    with pytest.raises(TopicNotFound, match=r"no topic 'orders' partition 7.*has 2 partitions"):
        NamedPartitions(frozenset({P("orders", 1), P("orders", 7)})).find(broker)


def test_a_pattern_matches_whole_names_and_never_kafka_s_own_topics() -> None:
    broker = FakeBroker()
    for name in ("orders-eu", "orders-us", "old-orders-eu", "__consumer_offsets"):
        broker.create_topic(name, 1)
    found = MatchingTopics("orders-.*").find(broker)
    assert {each.topic for each in found} == {"orders-eu", "orders-us"}
    assert "__consumer_offsets" not in {each.topic for each in MatchingTopics(".*").find(broker)}


def test_a_split_is_read_when_it_is_at_its_stopping_offset() -> None:
    assert KafkaPartitionSplit("t", 0, 5, 5).is_read
    assert not KafkaPartitionSplit("t", 0, 4, 5).is_read
    assert not KafkaPartitionSplit("t", 0, 4).is_read


def test_splits_and_partitions_can_be_pickled() -> None:
    split = KafkaPartitionSplit("t", 3, 5, 9)
    assert pickle.loads(pickle.dumps(split)) == split
    assert pickle.loads(pickle.dumps(split.topic_partition)) == P("t", 3)
    assert split.name == "t-3"


@pytest.mark.parametrize(("topic", "partition"), [("", 0), ("t", -1), ("t", True), ("t", "0")])
def test_what_is_no_partition_is_refused(topic: str, partition: int) -> None:
    with pytest.raises(ProgramError, match="KafkaTopicPartition"):
        P(topic, partition)
