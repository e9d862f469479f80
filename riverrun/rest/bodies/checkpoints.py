"""Bodies about a job's checkpoints."""

from __future__ import annotations

import msgspec


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many there were since the job began."""

    restored: int = 0
    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0


class StatsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over many checkpoints or subtasks."""

    min: int = 0
    max: int = 0
    avg: int = 0
    p50: float = 0.0
    p90: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    p999: float = 0.0


class CheckpointsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the completed checkpoints needed."""

    checkpointed_size: StatsSummary
    state_size: StatsSummary
    end_to_end_duration: StatsSummary
    alignment_buffered: StatsSummary
    processed_data: StatsSummary
    persisted_data: StatsSummary


class TaskCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The part of one vertex in a checkpoint."""

    id: int
    status: str
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    alignment_buffered: int
    processed_data: int
    persisted_data: int
    num_subtasks: int
    num_acknowledged_subtasks: int


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One checkpoint; fields that only an ended one has are left out before its end."""

    class_name: str = msgspec.field(name="className")
    """`in_progress`, `completed` or `failed`."""
    id: int
    status: str
    is_savepoint: bool
    savepoint_format: str | None = msgspec.field(name="savepointFormat", default=None)
    trigger_timestamp: int
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    alignment_buffered: int
    processed_data: int
    persisted_data: int
    num_subtasks: int
    num_acknowledged_subtasks: int
    checkpoint_type: str
    tasks: dict[str, TaskCheckpoint]
    """By vertex; empty in lists."""
    external_path: str | None = None
    discarded: bool | None = None
    failure_timestamp: int | None = None
    failure_message: str | None = None


class RestoredCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What the current attempt began from."""

    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str


class LatestCheckpoints(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest of each kind."""

    completed: Checkpoint | None = None
    savepoint: Checkpoint | None = None
    failed: Checkpoint | None = None
    restored: RestoredCheckpoint | None = None


class CheckpointsBody(msgspec.Struct, frozen=True, kw_only=True):
    """How a job's checkpoints went."""

    counts: Counts
    summary: CheckpointsSummary
    latest: LatestCheckpoints
    history: list[Checkpoint]
    """Newest first."""


class CheckpointDuration(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of the two phases."""

    sync: int
    async_: int = msgspec.field(name="async")


class CheckpointAlignment(msgspec.Struct, frozen=True, kw_only=True):
    """What waiting for barriers took."""

    buffered: int
    processed: int
    persisted: int
    duration: int


class SubtaskCheckpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One subtask's part; only the first three fields while it has not acknowledged."""

    class_name: str = msgspec.field(name="className")
    """`completed` or `pending`."""
    index: int
    status: str
    ack_timestamp: int | None = None
    end_to_end_duration: int | None = None
    checkpointed_size: int | None = None
    state_size: int | None = None
    checkpoint: CheckpointDuration | None = None
    alignment: CheckpointAlignment | None = None
    start_delay: int | None = None
    unaligned_checkpoint: bool | None = None
    aborted: bool | None = None


class DurationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The two phases over all subtasks."""

    sync: StatsSummary
    async_: StatsSummary = msgspec.field(name="async")


class AlignmentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Alignment over all subtasks."""

    buffered: StatsSummary
    processed: StatsSummary
    persisted: StatsSummary
    duration: StatsSummary


class SubtasksSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All subtasks that acknowledged."""

    checkpointed_size: StatsSummary
    state_size: StatsSummary
    end_to_end_duration: StatsSummary
    checkpoint_duration: DurationSummary
    alignment: AlignmentSummary
    start_delay: StatsSummary


class TaskCheckpointDetail(TaskCheckpoint, frozen=True, kw_only=True):
    """The part of one vertex, subtask by subtask."""

    summary: SubtasksSummary
    subtasks: list[SubtaskCheckpoint]


class Externalization(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of checkpoints when the job is cancelled."""

    enabled: bool
    delete_on_cancellation: bool


class CheckpointConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a job takes checkpoints; times are milliseconds."""

    mode: str
    interval: int
    timeout: int
    min_pause: int
    max_concurrent: int
    externalization: Externalization
    state_backend: str
    checkpoint_storage: str
    unaligned_checkpoints: bool
    tolerable_failed_checkpoints: int
    aligned_checkpoint_timeout: int
    checkpoints_after_tasks_finish: bool
    state_changelog_enabled: bool = False
    changelog_periodic_materialization_interval: int = 0
    changelog_storage: str = ""
