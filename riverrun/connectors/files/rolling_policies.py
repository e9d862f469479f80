"""When a part is closed and the next one begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from riverrun.core.time import DurationLike, to_millis

__all__ = ["DefaultRollingPolicy", "OnCheckpointRollingPolicy", "PartFileInfo", "RollingPolicy"]


@dataclass(slots=True)
class PartFileInfo:
    """What a rolling policy knows about the part that is being written; times in milliseconds."""

    bucket_id: str
    creation_time: int
    last_update_time: int
    size: int = 0

    def get_bucket_id(self) -> str:
        return self.bucket_id

    def get_creation_time(self) -> int:
        return self.creation_time

    def get_last_update_time(self) -> int:
        return self.last_update_time

    def get_size(self) -> int:
        return self.size


class RollingPolicy(ABC):
    """Decides when a part is closed. Parts that cannot go on after a checkpoint are closed there anyway."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        """Whether the part ends with the checkpoint that is being taken."""

    @abstractmethod
    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        """Whether ``element`` goes to a new part; asked for every record."""

    @abstractmethod
    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        """Whether the part has been open, or without new records, for too long."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int | DurationLike = 60 * 1000,
        inactivity_interval: int | DurationLike = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """A new part after so many bytes, or so many milliseconds, or so many of them without a record."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """A new part after every checkpoint."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """By size and by time."""

    def __init__(
        self,
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int | DurationLike = 60 * 1000,
        inactivity_interval: int | DurationLike = 60 * 1000,
    ) -> None:
        self.part_size = _positive("part_size", part_size, "bytes")
        self.rollover_interval = _positive(
            "rollover_interval", millis_of(rollover_interval), "milliseconds"
        )
        self.inactivity_interval = _positive(
            "inactivity_interval", millis_of(inactivity_interval), "milliseconds"
        )

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return part_file_state.size > self.part_size

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        del element
        return part_file_state.size > self.part_size

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return (
            current_time - part_file_state.creation_time >= self.rollover_interval
            or current_time - part_file_state.last_update_time >= self.inactivity_interval
        )


class OnCheckpointRollingPolicy(RollingPolicy):
    """At every checkpoint, and at no other time."""

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        del part_file_state
        return True

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        del part_file_state, element
        return False

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        del part_file_state, current_time
        return False


def size_limit(policy: RollingPolicy) -> int | None:
    """The size after which every part ends, if that is all that ``policy`` asks of a record."""
    return policy.part_size if isinstance(policy, DefaultRollingPolicy) else None


def asks_every_record(policy: RollingPolicy) -> bool:
    """Whether the policy has a rule of its own for records."""
    return type(policy).should_roll_on_event not in (
        DefaultRollingPolicy.should_roll_on_event,
        OnCheckpointRollingPolicy.should_roll_on_event,
    )


def millis_of(length: int | DurationLike) -> int:
    """A length of time in milliseconds; a plain number is one of these."""
    return length if isinstance(length, int) else to_millis(length)


def _positive(name: str, value: int, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"default rolling policy: {name} is {value!r}; expected 1 or more, in {unit}"
        )
    return value
