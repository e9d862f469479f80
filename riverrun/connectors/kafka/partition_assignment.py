"""Which reader reads which partition, and what changed between two looks at the topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from riverrun.connectors.kafka.partition_split import KafkaTopicPartition


def reader_of(partition: KafkaTopicPartition, parallelism: int) -> int:
    """The subtask that reads ``partition``, the same one that Flink chooses.

    The partitions of a topic go round the subtasks one by one, from a subtask that the topic's name
    decides: topics with few partitions do not all meet at the first subtask.

    >>> [reader_of(KafkaTopicPartition("orders", p), 4) for p in range(5)]
    [3, 0, 1, 2, 3]
    >>> [reader_of(KafkaTopicPartition("clicks", p), 4) for p in range(5)]
    [1, 2, 3, 0, 1]
    """
    start = (_java_hash(partition.topic) * 31 & 0x7FFF_FFFF) % parallelism
    return (start + partition.partition) % parallelism


def _java_hash(text: str) -> int:
    """What ``String.hashCode`` gives in Java, without its sign."""
    hashed = 0
    units = text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        hashed = (31 * hashed + (high << 8 | low)) & 0xFFFF_FFFF
    return hashed


@dataclass(frozen=True, slots=True)
class PartitionChanges:
    """What differs from what was known."""

    new: tuple[KafkaTopicPartition, ...]
    vanished: tuple[KafkaTopicPartition, ...]


def changes(
    known: Iterable[KafkaTopicPartition], found: Iterable[KafkaTopicPartition]
) -> PartitionChanges:
    """What came and what went, in order.

    >>> a, b, c = (KafkaTopicPartition("t", p) for p in range(3))
    >>> changes([a, b], [b, c]) == PartitionChanges(new=(c,), vanished=(a,))
    True
    """
    before, now = set(known), set(found)
    return PartitionChanges(tuple(sorted(now - before)), tuple(sorted(before - now)))
