"""What was fetched of each partition and not given yet: batches come mixed, and leave by partition."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeVar

from riverrun.connectors.kafka.partition_split import KafkaPartitionSplit

if TYPE_CHECKING:
    from confluent_kafka import Message

K = TypeVar("K")


class PartitionBuffer:
    """One partition: how far it was fetched and given, and what is between."""

    __slots__ = ("_messages", "_next", "fetched_to", "given_to", "name", "reached_end", "split")

    def __init__(self, split: KafkaPartitionSplit) -> None:
        self.split = split
        self.name = split.name
        self.given_to = self.fetched_to = split.offset
        self.reached_end = split.is_read
        """Whether nothing more is to be fetched."""
        self._messages: list[Message] = []
        self._next = 0

    @property
    def is_empty(self) -> bool:
        """Whether all that was fetched is given."""
        return self._next >= len(self._messages)

    @property
    def is_finished(self) -> bool:
        """Whether all is given up to the stopping offset."""
        return self.reached_end and self.is_empty

    def add(self, messages: list[Message]) -> None:
        """Messages that follow those that were fetched before, at least one."""
        if self.reached_end:
            return
        stop = self.split.stopping_offset
        last = messages[-1].offset() or 0
        if stop is not None and last + 1 >= stop:
            if last >= stop:
                # Offsets may have gaps: the first that is too far need not be the stopping offset.
                messages = messages[: bisect_left(messages, stop, key=_offset)]
            self.reached_end = True
        self.fetched_to = last + 1
        self._messages = self._messages[self._next :] + messages if not self.is_empty else messages
        self._next = 0

    def at_end(self, offset: int) -> None:
        """The partition has nothing before ``offset`` that was not fetched, nor at it yet."""
        stop = self.split.stopping_offset
        if stop is not None and offset >= stop:
            self.reached_end = True

    def take(self, limit: int) -> list[Message]:
        """At most ``limit`` messages, which count as given."""
        messages, start = self._messages, self._next
        if start == 0 and len(messages) <= limit:
            taken, self._messages = messages, []
        else:
            taken = messages[start : start + limit]
            self._next = start + len(taken)
        if taken:
            self.given_to = (taken[-1].offset() or 0) + 1
        return taken

    def position(self) -> KafkaPartitionSplit:
        """The split from after what was given."""
        split = self.split
        return KafkaPartitionSplit(
            split.topic, split.partition, self.given_to, split.stopping_offset
        )


def _offset(message: Message) -> int:
    return message.offset() or 0


def _grouped(keys: list[K], messages: list[Message]) -> dict[K, list[Message]]:
    """The messages by their keys, each group in order."""
    different = set(keys)
    if len(different) <= 1:
        return dict.fromkeys(different, messages)
    groups: dict[K, list[Message]] = {key: [] for key in different}
    for key, message in zip(keys, messages, strict=True):
        groups[key].append(message)
    return groups


class FetchedMessages:
    """The partitions of a reader, in the order in which they are served."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        """Also those of partitions that are read to their ends, whose messages may still come."""
        self._by_key: dict[tuple[str, int], PartitionBuffer] = {}
        self._turns: deque[PartitionBuffer] = deque()

    def add_split(self, split: KafkaPartitionSplit) -> PartitionBuffer:
        """Read this partition too."""
        buffer = PartitionBuffer(split)
        self._by_key[split.topic, split.partition] = buffer
        self._turns.append(buffer)
        self._topics.add(split.topic)
        return buffer

    def remove(self, buffer: PartitionBuffer) -> None:
        """The partition is read to its end."""
        del self._by_key[buffer.split.topic, buffer.split.partition]
        self._turns.remove(buffer)

    def partition(self, topic: str, partition: int) -> PartitionBuffer | None:
        """The partition's buffer, if it is read here."""
        return self._by_key.get((topic, partition))

    @property
    def partitions(self) -> Iterable[PartitionBuffer]:
        """All that are not finished."""
        return self._by_key.values()

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def add(self, messages: list[Message]) -> None:
        """A batch without errors, of any partitions mixed; in each the order is kept."""
        if len(self._topics) == 1:
            (topic,) = self._topics
            self._add_of(topic, messages)
            return
        for name, found in _grouped([each.topic() for each in messages], messages).items():
            self._add_of(name, found)

    def _add_of(self, topic: str | None, messages: list[Message]) -> None:
        """Messages of one topic."""
        groups = _grouped([each.partition() for each in messages], messages)
        for partition, found in groups.items():
            buffer = self._by_key.get((topic, partition))  # type: ignore[arg-type]
            if buffer is not None:  # else it was read to its end when the batch was fetched
                buffer.add(found)

    def next(self, paused: Collection[str]) -> PartitionBuffer | None:
        """The next partition, in turn, that has something to give or is finished."""
        turns = self._turns
        for _ in range(len(turns)):
            buffer = turns[0]
            turns.rotate(-1)
            if (not buffer.is_empty or buffer.reached_end) and buffer.name not in paused:
                return buffer
        return None
