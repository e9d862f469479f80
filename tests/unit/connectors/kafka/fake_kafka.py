"""A broker in memory, with a consumer that behaves as librdkafka's does where a reader can tell."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message, TopicPartition

from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from riverrun.connectors.kafka.source_enumerator import KafkaEnumeratorState, KafkaSourceEnumerator
from riverrun.connectors.kafka.source_reader import KafkaSourceReader


@dataclass
class FakePartition:
    """Messages by offset; offsets may have gaps, where markers and aborted messages are."""

    messages: dict[int, tuple[bytes | None, int]] = field(default_factory=dict)
    first: int = 0
    end: int = 0

    def add(self, value: bytes | None, timestamp: int = 0) -> None:
        self.messages[self.end] = (value, timestamp)
        self.end += 1

    def skip(self, count: int = 1) -> None:
        self.end += count

    def delete_before(self, offset: int) -> None:
        self.first = offset
        self.messages = {at: each for at, each in self.messages.items() if at >= offset}


class FakeBroker:
    """Topics and committed offsets; answers lookups as the real ones do."""

    def __init__(self) -> None:
        self.topics: dict[str, list[FakePartition]] = {}
        self.committed_offsets: dict[KafkaTopicPartition, int] = {}
        self.failure: Exception | None = None

    def create_topic(self, name: str, partitions: int) -> list[FakePartition]:
        self.topics[name] = [FakePartition() for _ in range(partitions)]
        return self.topics[name]

    def all_topics(self) -> Mapping[str, Sequence[int]]:
        if self.failure is not None:
            raise self.failure
        return {name: range(len(parts)) for name, parts in self.topics.items()}

    def partitions_of(self, topics: Sequence[str]) -> Mapping[str, Sequence[int]]:
        there = self.all_topics()
        return {name: there[name] for name in topics if name in there}

    def earliest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return {each: self._at(each).first for each in partitions}

    def latest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return {each: self._at(each).end for each in partitions}

    def at_time(
        self, partitions: Sequence[KafkaTopicPartition], timestamp: int
    ) -> dict[KafkaTopicPartition, int]:
        found = {}
        for each in partitions:
            late = [at for at, (_, t) in self._at(each).messages.items() if t >= timestamp]
            if late:
                found[each] = min(late)
        return found

    def committed(
        self, partitions: Sequence[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        return {
            each: self.committed_offsets[each]
            for each in partitions
            if each in self.committed_offsets
        }

    def _at(self, partition: KafkaTopicPartition) -> FakePartition:
        return self.topics[partition.topic][partition.partition]


class FakeConsumer:
    """Fetches a few messages of each partition in turn, in an order that the seed decides."""

    def __init__(self, broker: FakeBroker, properties: Mapping[str, Any], seed: int = 0) -> None:
        self.broker = broker
        self.properties = properties
        self.assigned: set[tuple[str, int]] = set()
        self.positions: dict[tuple[str, int], int] = {}
        """Of those that are assigned and can be fetched."""
        self.paused: set[tuple[str, int]] = set()
        self.told_end: set[tuple[str, int]] = set()
        self.commits: list[dict[tuple[str, int], int]] = []
        self.commit_error: KafkaError | None = None
        self.events: list[Message] = []
        self.errors: list[KafkaError] = []
        self.most_at_once = 50
        self.closed = False
        self._random = random.Random(seed)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        del timeout
        assert not self.closed
        for error in self.errors:
            self.properties["error_cb"](error)
        self.errors.clear()
        batch, self.events = self.events, []
        keys = list(self.positions)
        self._random.shuffle(keys)
        for topic, partition in keys:
            if (topic, partition) not in self.paused and len(batch) < num_messages:
                most = self._random.randint(1, self.most_at_once)
                room = num_messages - len(batch)
                batch += self._fetch(topic, partition, min(most, room))
        return batch

    def _fetch(self, topic: str, partition: int, most: int) -> list[Message]:
        key = (topic, partition)
        log = self.broker.topics[topic][partition]
        position = self.positions[key]
        if not log.first <= position <= log.end:
            self.positions.pop(key)
            return [_event(topic, partition, position, KafkaError._AUTO_OFFSET_RESET)]
        found: list[Message] = []
        while position < log.end and len(found) < most:
            if position in log.messages:
                value, timestamp = log.messages[position]
                found.append(message(topic, partition, position, value, timestamp))
            position += 1
        self.positions[key] = position
        if found:
            self.told_end.discard(key)
        at_end = position == log.end and len(found) < most and key not in self.told_end
        if at_end and self.properties["enable.partition.eof"]:
            self.told_end.add(key)
            found.append(_event(topic, partition, position, KafkaError._PARTITION_EOF))
        return found

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            assert (each.topic, each.partition) not in self.assigned
            self.assigned.add((each.topic, each.partition))
            self.positions[each.topic, each.partition] = each.offset

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self.assigned.remove(
                (each.topic, each.partition)
            )  # as librdkafka, which refuses others
            self.positions.pop((each.topic, each.partition), None)
            self.paused.discard((each.topic, each.partition))

    def pause(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            assert (each.topic, each.partition) in self.assigned
            self.paused.add((each.topic, each.partition))

    def resume(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self.paused.discard((each.topic, each.partition))

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> None:
        assert asynchronous
        if self.commit_error is None:
            self.commits.append({(each.topic, each.partition): each.offset for each in offsets})
        self.properties["on_commit"](self.commit_error, offsets)

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, *, cached: bool = False
    ) -> tuple[int, int]:
        del timeout, cached
        log = self.broker.topics[partition.topic][partition.partition]
        return log.first, log.end

    def close(self) -> None:
        self.closed = True


def message(
    topic: str, partition: int, offset: int, value: bytes | None, timestamp: int = 0, **more: Any
) -> Message:
    """As a consumer gives it."""
    return Message(
        topic=topic,
        partition=partition,
        offset=offset,
        value=value,
        timestamp=(1, timestamp),
        **more,
    )


def _event(topic: str, partition: int, offset: int, code: int) -> Message:
    return Message(topic=topic, partition=partition, offset=offset, error=KafkaError(code))


def failing_event(topic: str, partition: int, code: int, text: str) -> Message:
    """An error that concerns a partition."""
    return Message(topic=topic, partition=partition, offset=-1, error=KafkaError(code, text))


def making(
    broker: FakeBroker, made: list[FakeConsumer], seed: int = 0
) -> Callable[[dict[str, Any]], FakeConsumer]:
    """What readers make their consumers with; each is noted in ``made``."""

    def make(properties: dict[str, Any]) -> FakeConsumer:
        made.append(FakeConsumer(broker, properties, seed + len(made)))
        return made[-1]

    return make


def fill(partition: FakePartition, values: Iterable[int]) -> None:
    """Messages with these numbers as text, and as their timestamps."""
    for value in values:
        partition.add(b"%d" % value, value)


EARLIEST = KafkaOffsetsInitializer.earliest()
LATEST = KafkaOffsetsInitializer.latest()


def building(*topics: str) -> KafkaSourceBuilder:
    """A source of topics of numbers, as text; of one topic unless they are named."""
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("nowhere:1")
        .set_group_id("group")
        .set_topics(*topics or ("t",))
        .set_value_only_deserializer(SimpleStringSchema())
    )


class FakeSource(Source[Any]):
    """A source as it was built, but of a broker in memory."""

    def __init__(self, built: KafkaSource, broker: FakeBroker, seed: int = 0) -> None:
        self.built = built
        self.broker = broker
        self.consumers: list[FakeConsumer] = []
        self._make = making(broker, self.consumers, seed)

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return self.restore_enumerator(context, KafkaEnumeratorState())

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        return KafkaSourceEnumerator(context, self.built.discovery, self.broker, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return KafkaSourceReader(self.built.reading, splits, context, self._make)
