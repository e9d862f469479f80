"""A partition of a topic, and how far it is read: what checkpoints hold of a Kafka source."""

from __future__ import annotations

from dataclasses import dataclass

from riverrun.core.errors import ProgramError


@dataclass(frozen=True, slots=True, order=True)
class KafkaTopicPartition:
    """One partition of one topic.

    >>> str(KafkaTopicPartition("orders", 3))
    "topic 'orders' partition 3"
    """

    topic: str
    partition: int

    def __post_init__(self) -> None:
        if not isinstance(self.topic, str) or not self.topic:
            raise ProgramError(
                f"KafkaTopicPartition: the topic is {self.topic!r}; expected its name"
            )
        partition = self.partition
        if isinstance(partition, bool) or not isinstance(partition, int) or partition < 0:
            raise ProgramError(
                f"KafkaTopicPartition: the partition of topic {self.topic!r} is {partition!r}; "
                f"expected an int, 0 or more"
            )

    def __str__(self) -> str:
        return f"topic {self.topic!r} partition {self.partition}"


@dataclass(frozen=True, slots=True)
class KafkaPartitionSplit:
    """What to read of a partition: from ``offset``, up to but without ``stopping_offset``."""

    topic: str
    partition: int
    offset: int
    """The next record to give; there need not be one of just that offset."""
    stopping_offset: int | None = None
    """None: it has no end."""

    @property
    def name(self) -> str:
        """The split's name, the same at any offset."""
        return f"{self.topic}-{self.partition}"

    @property
    def topic_partition(self) -> KafkaTopicPartition:
        """The partition that it is of."""
        return KafkaTopicPartition(self.topic, self.partition)

    @property
    def is_read(self) -> bool:
        """Whether there is nothing left to give.

        >>> KafkaPartitionSplit("orders", 0, 7, 7).is_read
        True
        """
        return self.stopping_offset is not None and self.offset >= self.stopping_offset
