"""`/jobs/{jobid}/checkpoints`: how a job's checkpoints went, and how it takes them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Final, TypeAlias

import msgspec

from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    CheckpointStatistics,
    CheckpointStatus,
    SubtaskStatistics,
    TaskStatistics,
)
from riverrun.checkpoint.statistics import StatsSummary as Summary
from riverrun.cluster.job_report import JobReport
from riverrun.core import options
from riverrun.core.options import ExternalizedCheckpointRetention
from riverrun.rest.bodies import checkpoints as bodies
from riverrun.rest.context import RestContext
from riverrun.rest.problems import not_found
from riverrun.rest.routing import Call, Index, Nothing, OfJob, Route, VertexIdText

AboutJob: TypeAlias = Call[OfJob, Nothing, None]
_CLASS_NAMES: Final = {
    CheckpointStatus.IN_PROGRESS: "in_progress",
    CheckpointStatus.COMPLETED: "completed",
    CheckpointStatus.FAILED: "failed",
}


class OfCheckpoint(OfJob, frozen=True):
    """The path names a checkpoint of a job."""

    checkpointid: Index


class OfCheckpointedVertex(OfCheckpoint, frozen=True):
    """The path names a vertex in a checkpoint."""

    vertexid: VertexIdText


def statistics(rest: RestContext, call: AboutJob) -> bodies.CheckpointsBody:
    """How a job's checkpoints went."""
    found = statistics_of(rest.dispatcher.job(call.path.job))
    latest = found.latest
    return bodies.CheckpointsBody(
        counts=bodies.Counts(**asdict(found.counts)),
        summary=bodies.CheckpointsSummary(
            checkpointed_size=_summary(found.summary.checkpointed_size),
            state_size=_summary(found.summary.state_size),
            end_to_end_duration=_summary(found.summary.end_to_end_duration),
            alignment_buffered=_summary(found.summary.alignment_buffered),
            processed_data=_summary(found.summary.processed_data),
            persisted_data=_summary(found.summary.persisted_data),
        ),
        latest=bodies.LatestCheckpoints(
            completed=_optional(latest.completed),
            savepoint=_optional(latest.savepoint),
            failed=_optional(latest.failed),
            restored=None
            if latest.restored is None
            else bodies.RestoredCheckpoint(**asdict(latest.restored)),
        ),
        history=[_checkpoint(each, with_tasks=False) for each in found.history],
    )


def details(rest: RestContext, call: Call[OfCheckpoint, Nothing, None]) -> bodies.Checkpoint:
    """One checkpoint, vertex by vertex."""
    return _checkpoint(_known(rest.dispatcher.job(call.path.job), call.path), with_tasks=True)


def subtask_details(
    rest: RestContext, call: Call[OfCheckpointedVertex, Nothing, None]
) -> bodies.TaskCheckpointDetail:
    """The part of one vertex in a checkpoint, subtask by subtask."""
    checkpoint = _known(rest.dispatcher.job(call.path.job), call.path)
    task = checkpoint.tasks.get(call.path.vertexid)
    if task is None:
        raise not_found(
            f"checkpoint {checkpoint.id}: vertex {call.path.vertexid!r} has no part in it"
        )
    there = {each.index: each for each in task.subtasks}
    indices = sorted({*range(task.num_subtasks), *there})
    return bodies.TaskCheckpointDetail(
        **msgspec.structs.asdict(_task(checkpoint, task)),
        summary=_subtasks_summary(task.subtasks),
        subtasks=[_subtask(index, there.get(index), checkpoint) for index in indices],
    )


def config(rest: RestContext, call: AboutJob) -> bodies.CheckpointConfig:
    """How a job takes checkpoints."""
    job = rest.dispatcher.job(call.path.job)
    statistics_of(job)
    settings = CheckpointSettings.of(job.config)
    retention = settings.retention
    return bodies.CheckpointConfig(
        mode=settings.mode.name,
        interval=settings.interval_ms or 0,
        timeout=settings.timeout_ms,
        min_pause=settings.min_pause_ms,
        max_concurrent=settings.max_concurrent,
        externalization=bodies.Externalization(
            enabled=retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
            delete_on_cancellation=retention
            is ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION,
        ),
        state_backend=options.STATE_BACKEND.get(job.config),
        checkpoint_storage=job.checkpoint_folder or "",
        unaligned_checkpoints=settings.unaligned,
        tolerable_failed_checkpoints=settings.tolerable_failures,
        aligned_checkpoint_timeout=settings.aligned_timeout_ms,
        checkpoints_after_tasks_finish=settings.after_finish,
    )


def statistics_of(job: JobReport) -> CheckpointingStatistics:
    """The job's figures; HttpProblem 404 when it takes no checkpoints."""
    if job.checkpoints is None:
        raise not_found(
            f"job {job.id!r}: takes no checkpoints; set 'execution.checkpointing.interval'"
        )
    return job.checkpoints


def _known(job: JobReport, path: OfCheckpoint) -> CheckpointStatistics:
    checkpoint = statistics_of(job).checkpoint(path.checkpointid)
    if checkpoint is None:
        raise not_found(
            f"job {job.id!r}: checkpoint {path.checkpointid} is not in its history, which keeps the latest"
        )
    return checkpoint


def _optional(checkpoint: CheckpointStatistics | None) -> bodies.Checkpoint | None:
    return None if checkpoint is None else _checkpoint(checkpoint, with_tasks=False)


def _checkpoint(found: CheckpointStatistics, *, with_tasks: bool) -> bodies.Checkpoint:
    totals = found.totals
    completed = found.status is CheckpointStatus.COMPLETED
    kind = found.checkpoint_type
    if kind == "CHECKPOINT" and found.unaligned:
        kind = "UNALIGNED_CHECKPOINT"
    return bodies.Checkpoint(
        class_name=_CLASS_NAMES[found.status],
        id=found.id,
        status=found.status.value,
        is_savepoint=found.is_savepoint,
        savepoint_format="CANONICAL" if found.is_savepoint else None,
        trigger_timestamp=found.trigger_timestamp,
        latest_ack_timestamp=totals.latest_ack_timestamp,
        checkpointed_size=totals.checkpointed_size,
        state_size=totals.state_size,
        end_to_end_duration=totals.end_to_end_duration,
        alignment_buffered=totals.alignment_buffered,
        processed_data=totals.processed_data,
        persisted_data=totals.persisted_data,
        num_subtasks=found.num_subtasks,
        num_acknowledged_subtasks=found.num_acknowledged_subtasks,
        checkpoint_type=kind,
        tasks={name: _task(found, task) for name, task in found.tasks.items()}
        if with_tasks
        else {},
        external_path=found.external_path,
        discarded=found.discarded if completed else None,
        failure_timestamp=found.failure_timestamp,
        failure_message=found.failure_message,
    )


def _task(checkpoint: CheckpointStatistics, task: TaskStatistics) -> bodies.TaskCheckpoint:
    totals = task.totals
    done = task.num_acknowledged_subtasks == task.num_subtasks
    return bodies.TaskCheckpoint(
        id=checkpoint.id,
        status=CheckpointStatus.COMPLETED.value if done else checkpoint.status.value,
        latest_ack_timestamp=totals.latest_ack_timestamp,
        checkpointed_size=totals.checkpointed_size,
        state_size=totals.state_size,
        end_to_end_duration=totals.end_to_end_duration,
        alignment_buffered=totals.alignment_buffered,
        processed_data=totals.processed_data,
        persisted_data=totals.persisted_data,
        num_subtasks=task.num_subtasks,
        num_acknowledged_subtasks=task.num_acknowledged_subtasks,
    )


def _subtask(
    index: int, found: SubtaskStatistics | None, checkpoint: CheckpointStatistics
) -> bodies.SubtaskCheckpoint:
    if found is None:
        failed = checkpoint.status is CheckpointStatus.FAILED
        status = "failed" if failed else "pending"
        return bodies.SubtaskCheckpoint(class_name="pending", index=index, status=status)
    times = found.times
    return bodies.SubtaskCheckpoint(
        class_name="completed",
        index=index,
        status="completed",
        ack_timestamp=found.ack_timestamp,
        end_to_end_duration=found.end_to_end_duration,
        checkpointed_size=times.state_bytes,
        state_size=times.full_bytes,
        checkpoint=bodies.CheckpointDuration(sync=int(times.sync_ms), async_=int(times.async_ms)),
        alignment=bodies.CheckpointAlignment(
            buffered=times.aligned_bytes,
            processed=0,
            persisted=times.channel_bytes,
            duration=int(times.alignment_ms),
        ),
        start_delay=int(times.start_delay_ms),
        unaligned_checkpoint=times.unaligned,
        aborted=False,
    )


def _subtasks_summary(subtasks: Collection[SubtaskStatistics]) -> bodies.SubtasksSummary:
    times = [each.times for each in subtasks]
    return bodies.SubtasksSummary(
        checkpointed_size=_over([each.state_bytes for each in times]),
        state_size=_over([each.full_bytes for each in times]),
        end_to_end_duration=_over([each.end_to_end_duration for each in subtasks]),
        checkpoint_duration=bodies.DurationSummary(
            sync=_over([each.sync_ms for each in times]),
            async_=_over([each.async_ms for each in times]),
        ),
        alignment=bodies.AlignmentSummary(
            buffered=_over([each.aligned_bytes for each in times]),
            processed=_over([]),
            persisted=_over([each.channel_bytes for each in times]),
            duration=_over([each.alignment_ms for each in times]),
        ),
        start_delay=_over([each.start_delay_ms for each in times]),
    )


def _over(values: Collection[float]) -> bodies.StatsSummary:
    return _summary(Summary.of([int(value) for value in values]))


def _summary(found: Summary) -> bodies.StatsSummary:
    return bodies.StatsSummary(**asdict(found))


ROUTES: Final = (
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints",
        statistics,
        gives=bodies.CheckpointsBody,
        of=OfJob,
        of_report=True,
    ),
    Route(
        "GET", "/jobs/{jobid}/checkpoints/config", config, gives=bodies.CheckpointConfig, of=OfJob
    ),
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints/details/{checkpointid}",
        details,
        gives=bodies.Checkpoint,
        of=OfCheckpoint,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}",
        subtask_details,
        gives=bodies.TaskCheckpointDetail,
        of=OfCheckpointedVertex,
    ),
)
