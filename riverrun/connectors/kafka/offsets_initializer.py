"""Where to begin and where to stop in each partition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Protocol, assert_never

from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.core.errors import ExternalError, ProgramError


class KafkaOffsetResetStrategy(Enum):
    """Where to read when there is no offset for a partition, or none that the broker has."""

    LATEST = "latest"
    """After its last record: what is between is lost."""
    EARLIEST = "earliest"
    """At its first record."""
    NONE = "none"
    """Nowhere: the job fails."""


class OffsetsNotFound(ExternalError):  # noqa: N818  (named after what it is)
    """Partitions have no offset to begin with or to stop at, and the program says not what to do then."""


class OffsetsLookup(Protocol):
    """Asks the brokers for offsets; may block."""

    def earliest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """The offset of the first record of each."""

    def latest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """The offset after the last record of each that may be read."""

    def at_time(
        self, partitions: Sequence[KafkaTopicPartition], timestamp: int
    ) -> dict[KafkaTopicPartition, int]:
        """The offset of the first record at ``timestamp`` or later, for those that have one."""

    def committed(
        self, partitions: Sequence[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        """What the consumer group has committed, for those that have it."""


class KafkaOffsetsInitializer(ABC):
    """Finds an offset for each partition, when the job starts; restored jobs go on where they were.

    The static methods give the usual ones. A class of its own may find them in any other way.
    """

    needs_group: ClassVar[bool] = False
    """Whether it only works with a consumer group."""

    @abstractmethod
    def get_partition_offsets(
        self, partitions: Sequence[KafkaTopicPartition], lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        """An offset for each of ``partitions``; runs in a worker, beside the task's thread."""

    @abstractmethod
    def get_auto_offset_reset_strategy(self) -> KafkaOffsetResetStrategy:
        """What to do where there is no such offset, also later, when the broker has deleted records."""

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """What the consumer group has committed; the strategy is for partitions without."""
        return CommittedOffsets(_strategy(offset_reset_strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record at ``timestamp`` (epoch milliseconds) or later; where there is none, the end."""
        if isinstance(timestamp, bool) or not isinstance(timestamp, int) or timestamp < 0:
            raise ProgramError(
                f"KafkaOffsetsInitializer.timestamp: got {timestamp!r}; expected milliseconds since "
                f"1970 as an int, 0 or more"
            )
        return OffsetsAtTime(timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record that the broker has."""
        return EarliestOffsets()

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """After the last record that there is when the job starts."""
        return LatestOffsets()

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """These; the strategy is for partitions that are not among them."""
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition):
                raise ProgramError(
                    f"KafkaOffsetsInitializer.offsets: got the key {partition!r}; expected a "
                    f"KafkaTopicPartition"
                )
            if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
                raise ProgramError(
                    f"KafkaOffsetsInitializer.offsets: the offset of {partition} is {offset!r}; "
                    f"expected an int, 0 or more"
                )
        return GivenOffsets(tuple(sorted(offsets.items())), _strategy(offset_reset_strategy))


class EarliestOffsets(KafkaOffsetsInitializer):
    """The first records."""

    def get_partition_offsets(
        self, partitions: Sequence[KafkaTopicPartition], lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        return lookup.earliest(partitions)

    def get_auto_offset_reset_strategy(self) -> KafkaOffsetResetStrategy:
        return KafkaOffsetResetStrategy.EARLIEST


class LatestOffsets(KafkaOffsetsInitializer):
    """After the last records."""

    def get_partition_offsets(
        self, partitions: Sequence[KafkaTopicPartition], lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        return lookup.latest(partitions)

    def get_auto_offset_reset_strategy(self) -> KafkaOffsetResetStrategy:
        return KafkaOffsetResetStrategy.LATEST


@dataclass(frozen=True)
class OffsetsAtTime(KafkaOffsetsInitializer):
    """The first records that are not older than a time, or the end."""

    at: int

    def get_partition_offsets(
        self, partitions: Sequence[KafkaTopicPartition], lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        # The ends first: asked for later they might be behind a record that came in between.
        ends = lookup.latest(partitions)
        return ends | lookup.at_time(partitions, self.at)

    def get_auto_offset_reset_strategy(self) -> KafkaOffsetResetStrategy:
        return KafkaOffsetResetStrategy.LATEST


@dataclass(frozen=True)
class CommittedOffsets(KafkaOffsetsInitializer):
    """What a consumer group has read, by its own word."""

    strategy: KafkaOffsetResetStrategy
    needs_group: ClassVar[bool] = True

    def get_partition_offsets(
        self, partitions: Sequence[KafkaTopicPartition], lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        found = lookup.committed(partitions)
        return _completed(found, partitions, lookup, self.strategy, "no committed offset")

    def get_auto_offset_reset_strategy(self) -> KafkaOffsetResetStrategy:
        return self.strategy


@dataclass(frozen=True)
class GivenOffsets(KafkaOffsetsInitializer):
    """Those that the program says."""

    given: tuple[tuple[KafkaTopicPartition, int], ...]
    strategy: KafkaOffsetResetStrategy

    def get_partition_offsets(
        self, partitions: Sequence[KafkaTopicPartition], lookup: OffsetsLookup
    ) -> dict[KafkaTopicPartition, int]:
        wanted = set(partitions)
        found = {partition: offset for partition, offset in self.given if partition in wanted}
        return _completed(found, partitions, lookup, self.strategy, "no offset given")

    def get_auto_offset_reset_strategy(self) -> KafkaOffsetResetStrategy:
        return self.strategy


def _completed(
    found: dict[KafkaTopicPartition, int],
    partitions: Sequence[KafkaTopicPartition],
    lookup: OffsetsLookup,
    strategy: KafkaOffsetResetStrategy,
    lack: str,
) -> dict[KafkaTopicPartition, int]:
    """``found``, and for partitions that are not in it what the strategy says."""
    missing = [each for each in partitions if each not in found]
    if not missing:
        return found
    match strategy:
        case KafkaOffsetResetStrategy.EARLIEST:
            return found | lookup.earliest(missing)
        case KafkaOffsetResetStrategy.LATEST:
            return found | lookup.latest(missing)
        case KafkaOffsetResetStrategy.NONE:
            raise OffsetsNotFound(
                f"KafkaSource: there is {lack} for {', '.join(map(str, missing))}, and the offset "
                f"reset strategy is NONE; choose EARLIEST or LATEST, or see to it that there is one"
            )
        case _:
            assert_never(strategy)


def _strategy(strategy: KafkaOffsetResetStrategy) -> KafkaOffsetResetStrategy:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise ProgramError(
            f"KafkaOffsetsInitializer: the offset reset strategy is {strategy!r}; expected a "
            f"KafkaOffsetResetStrategy"
        )
    return strategy
