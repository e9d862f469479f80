"""What a Kafka source reads: named topics, topics whose names match a pattern, or single partitions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from riverrun.connectors.kafka.connection import TopicMissing
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.core.errors import ProgramError

_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class TopicNotFound(TopicMissing, ProgramError):  # noqa: N818  (named after what it is)
    """Topics or partitions that a program names are not there; to start again does not help."""


class TopicsLookup(Protocol):
    """Asks the brokers which topics there are; may block."""

    def partitions_of(self, topics: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """The partitions of those of ``topics`` that exist."""

    def all_topics(self) -> Mapping[str, Sequence[int]]:
        """The partitions of all topics."""


class Subscription(ABC):
    """Which partitions are to be read, of those that there are."""

    @abstractmethod
    def find(self, lookup: TopicsLookup) -> frozenset[KafkaTopicPartition]:
        """The partitions that there are now.

        Raises:
            TopicNotFound: one that the program names is missing.
        """


@dataclass(frozen=True, slots=True)
class NamedTopics(Subscription):
    """All partitions of some topics."""

    topics: tuple[str, ...]

    def find(self, lookup: TopicsLookup) -> frozenset[KafkaTopicPartition]:
        found = lookup.partitions_of(self.topics)
        missing = [topic for topic in self.topics if topic not in found]
        if missing:
            raise TopicNotFound(_missing_topics(missing))
        return _partitions(found)


@dataclass(frozen=True, slots=True)
class MatchingTopics(Subscription):
    """All partitions of the topics whose whole name matches; Kafka's own topics never do."""

    pattern: str

    def find(self, lookup: TopicsLookup) -> frozenset[KafkaTopicPartition]:
        matches = re.compile(self.pattern).fullmatch
        found = lookup.all_topics()
        return _partitions(
            {
                topic: partitions
                for topic, partitions in found.items()
                if topic not in _INTERNAL and matches(topic)
            }
        )


@dataclass(frozen=True, slots=True)
class NamedPartitions(Subscription):
    """Some partitions."""

    partitions: frozenset[KafkaTopicPartition]

    def find(self, lookup: TopicsLookup) -> frozenset[KafkaTopicPartition]:
        topics = sorted({each.topic for each in self.partitions})
        found = lookup.partitions_of(topics)
        missing = [topic for topic in topics if topic not in found]
        if missing:
            raise TopicNotFound(_missing_topics(missing))
        absent = sorted(self.partitions - _partitions(found))
        if absent:
            first = absent[0]
            raise TopicNotFound(
                f"KafkaSource: no {', no '.join(map(str, absent))}; topic {first.topic!r} has "
                f"{len(found[first.topic])} partitions: correct set_partitions"
            )
        return self.partitions


def _partitions(found: Mapping[str, Sequence[int]]) -> frozenset[KafkaTopicPartition]:
    return frozenset(
        KafkaTopicPartition(topic, partition)
        for topic, partitions in found.items()
        for partition in partitions
    )


def _missing_topics(missing: Sequence[str]) -> str:
    names = ", ".join(map(repr, missing))
    return (
        f"KafkaSource: the brokers know no topic {names}; create it, correct the name, or allow this "
        f"client to describe it"
    )
