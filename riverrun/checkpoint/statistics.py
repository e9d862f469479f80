"""Figures about a job's checkpoints: immutable, so that any thread may read them.

Names and shapes follow Flink's REST interface (`/jobs/:jobid/checkpoints` and its details).
Times are milliseconds since the epoch, durations milliseconds, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from riverrun.protocol.snapshots import SnapshotTimes


class CheckpointStatus(Enum):
    """Where a checkpoint stands."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class SubtaskStatistics:
    """What one subtask needed for its part."""

    index: int
    ack_timestamp: int
    end_to_end_duration: int
    """From the trigger to the acknowledgement."""
    times: SnapshotTimes


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over subtasks, and the time of the last of them."""

    checkpointed_size: int = 0
    """Written by this checkpoint."""
    state_size: int = 0
    """The whole state, also what was not written again."""
    alignment_buffered: int = 0
    """Bytes that waited for barriers."""
    processed_data: int = 0
    persisted_data: int = 0
    """Bytes of channel state."""
    latest_ack_timestamp: int = -1
    """-1 before the first acknowledgement, as in Flink."""
    end_to_end_duration: int = 0

    @staticmethod
    def of(subtasks: Collection[SubtaskStatistics]) -> Totals:
        """The totals of these subtasks."""
        times = [subtask.times for subtask in subtasks]
        return Totals(
            checkpointed_size=sum(each.state_bytes for each in times),
            state_size=sum(each.full_bytes for each in times),
            alignment_buffered=sum(each.aligned_bytes for each in times),
            persisted_data=sum(each.channel_bytes for each in times),
            latest_ack_timestamp=max((each.ack_timestamp for each in subtasks), default=-1),
            end_to_end_duration=max((each.end_to_end_duration for each in subtasks), default=0),
        )


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """What one vertex needed for its part."""

    vertex: str
    num_subtasks: int
    """How many take part; subtasks that had finished do not."""
    subtasks: tuple[SubtaskStatistics, ...]
    """Those that acknowledged, by index."""

    @property
    def num_acknowledged_subtasks(self) -> int:
        """How many acknowledged."""
        return len(self.subtasks)

    @property
    def totals(self) -> Totals:
        """Sums over the vertex."""
        return Totals.of(self.subtasks)


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """All that is known about one checkpoint."""

    id: int
    status: CheckpointStatus
    trigger_timestamp: int
    tasks: Mapping[str, TaskStatistics]
    """By vertex."""
    totals: Totals
    is_savepoint: bool = False
    is_synchronous: bool = False
    """Whether it is the savepoint that the job stops with."""
    unaligned: bool = False
    """Whether any subtask did not align."""
    external_path: str | None = None
    """Where it is, once it completed."""
    metadata_size: int = 0
    discarded: bool = False
    """Whether it completed and was deleted since."""
    failure_timestamp: int | None = None
    failure_message: str | None = None

    @property
    def checkpoint_type(self) -> str:
        """``CHECKPOINT``, ``SAVEPOINT``, or ``SYNC_SAVEPOINT`` for the one that the job stops with."""
        if not self.is_savepoint:
            return "CHECKPOINT"
        return "SYNC_SAVEPOINT" if self.is_synchronous else "SAVEPOINT"

    @property
    def num_subtasks(self) -> int:
        """How many take part."""
        return sum(task.num_subtasks for task in self.tasks.values())

    @property
    def num_acknowledged_subtasks(self) -> int:
        """How many acknowledged."""
        return sum(task.num_acknowledged_subtasks for task in self.tasks.values())


@dataclass(frozen=True, slots=True)
class RestoredCheckpoint:
    """A checkpoint that an attempt began from."""

    id: int
    restore_timestamp: int
    external_path: str
    is_savepoint: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """How many checkpoints there were since the job began."""

    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    restored: int = 0


@dataclass(frozen=True, slots=True)
class StatsSummary:
    """One figure over many checkpoints (or subtasks); all 0 when there are none.

    >>> StatsSummary.of([4, 1, 3, 2])
    StatsSummary(min=1, max=4, avg=2, p50=2.5, p90=3.7, p95=3.85, p99=3.97, p999=3.997)
    """

    min: int = 0
    max: int = 0
    avg: int = 0
    p50: float = 0.0
    p90: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    p999: float = 0.0

    @staticmethod
    def of(values: Collection[int]) -> StatsSummary:
        """The summary of ``values``."""
        if not values:
            return StatsSummary()
        ordered = sorted(values)
        quantiles = (quantile(ordered, part) for part in (0.5, 0.9, 0.95, 0.99, 0.999))
        return StatsSummary(ordered[0], ordered[-1], sum(ordered) // len(ordered), *quantiles)


def quantile(ordered: Sequence[int], part: float) -> float:
    """The value below which ``part`` of ``ordered`` lies, between two of them where it must be.

    >>> quantile([1, 2, 3, 4], 0.25)
    1.75
    """
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return round(ordered[below] + (ordered[above] - ordered[below]) * (place - below), 6)


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """What the completed checkpoints needed."""

    checkpointed_size: StatsSummary = StatsSummary()
    state_size: StatsSummary = StatsSummary()
    end_to_end_duration: StatsSummary = StatsSummary()
    alignment_buffered: StatsSummary = StatsSummary()
    processed_data: StatsSummary = StatsSummary()
    persisted_data: StatsSummary = StatsSummary()


@dataclass(frozen=True, slots=True)
class LatestCheckpoints:
    """The newest of each kind."""

    completed: CheckpointStatistics | None = None
    savepoint: CheckpointStatistics | None = None
    failed: CheckpointStatistics | None = None
    restored: RestoredCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class CheckpointingStatistics:
    """The whole picture at one moment."""

    counts: Counts = field(default_factory=Counts)
    summary: CheckpointSummary = field(default_factory=CheckpointSummary)
    latest: LatestCheckpoints = field(default_factory=LatestCheckpoints)
    history: tuple[CheckpointStatistics, ...] = ()
    """Newest first; a bounded number, but always with those in progress."""

    def checkpoint(self, checkpoint_id: int) -> CheckpointStatistics | None:
        """The checkpoint with this number, while the history has it."""
        return next((each for each in self.history if each.id == checkpoint_id), None)
