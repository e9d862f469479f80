"""All metrics of a cluster at a moment, by scope: what reporters pass on."""

from __future__ import annotations

import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final

from riverrun.cluster.dispatcher.gateway import Dispatcher, UnknownJob
from riverrun.cluster.job_report import NOT_YET, JobReport, SubtaskReport, VertexReport
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.metrics.scope import MetricScope, ScopeKind
from riverrun.rest.rendering import duration

_KB: Final = 1 if sys.platform == "darwin" else 1024
"""What the kernel counts memory in."""
_TIMES: Final = {
    "RUNNING": "runningTime",
    "RESTARTING": "restartingTime",
    "CANCELLING": "cancellingTime",
    "FAILING": "failingTime",
}
"""Job status -> the metric that says for how long the job is in it."""


def cluster_scopes(dispatcher: Dispatcher) -> list[MetricScope]:
    """The JobManager, its task managers, and the jobs that run, down to their operators."""
    host = socket.gethostname()
    managers = dispatcher.task_managers()
    running = running_jobs(dispatcher)
    scopes = [
        MetricScope(
            ScopeKind.JOB_MANAGER, {"host": host}, job_manager_metrics(managers, len(running))
        )
    ]
    scopes += [
        MetricScope(
            ScopeKind.TASK_MANAGER,
            {"host": each.host, "tm_id": each.id},
            task_manager_metrics(each),
        )
        for each in managers
    ]
    for job in running:
        scopes += job_scopes(job, host)
    return scopes


def running_jobs(dispatcher: Dispatcher) -> list[JobReport]:
    """The reports of the jobs that have not ended."""
    found = []
    for job in dispatcher.jobs():
        if not JobStatus(job.status).is_globally_terminal_state():
            try:
                found.append(dispatcher.job(JobId(job.id)))
            except UnknownJob:
                continue  # forgotten since it was listed
    return found


def job_manager_metrics(managers: Sequence[TaskManager], running: int) -> dict[str, float]:
    """The metrics of the JobManager, by Flink's names where they mean the same."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "numRegisteredTaskManagers": float(len(managers)),
        "numRunningJobs": float(running),
        "taskSlotsTotal": float(sum(each.slots for each in managers)),
        "taskSlotsAvailable": float(sum(each.slots_free for each in managers)),
        "Status.Process.Threads.Count": float(threading.active_count()),
        "Status.Process.CPU.Time": time.process_time() * 1e9,
        "Status.Process.Memory.MaxResident": float(usage.ru_maxrss * _KB),
    }


def task_manager_metrics(manager: TaskManager) -> dict[str, float]:
    """The metrics of an executor, by Flink's names where they mean the same."""
    return {
        "Status.JVM.Memory.Heap.Max": float(manager.memory_max),
        "Status.JVM.Memory.Heap.Used": float(manager.memory_used),
        "taskSlotsTotal": float(manager.slots),
        "taskSlotsAvailable": float(manager.slots_free),
        **manager.measured,
    }


def job_metrics(job: JobReport) -> dict[str, float]:
    """The metrics of a job as a whole."""
    running = job.timestamps.get("RUNNING", 0)
    up = 0 if not running else duration(running, job.end, job.made)
    restarts = float(job.restarts)
    values: dict[str, float] = {
        "uptime": float(up),
        "numRestarts": restarts,
        "fullRestarts": restarts,
        "numRescales": float(sum(each.ended != NOT_YET for each in job.rescales)),
    }
    values |= {
        name: float(duration(job.timestamps[status], job.end, job.made)) if is_now else 0.0
        for status, name in _TIMES.items()
        for is_now in (job.status == status and job.timestamps.get(status, 0) > 0,)
    }
    found = job.checkpoints
    if found is not None:
        latest, restored = found.latest.completed, found.latest.restored
        values |= {
            "totalNumberOfCheckpoints": float(found.counts.total),
            "numberOfInProgressCheckpoints": float(found.counts.in_progress),
            "numberOfCompletedCheckpoints": float(found.counts.completed),
            "numberOfFailedCheckpoints": float(found.counts.failed),
            "lastCheckpointSize": float(latest.totals.checkpointed_size if latest else NOT_YET),
            "lastCheckpointFullSize": float(latest.totals.state_size if latest else NOT_YET),
            "lastCheckpointDuration": float(
                latest.totals.end_to_end_duration if latest else NOT_YET
            ),
            "lastCheckpointMetadataSize": float(latest.metadata_size if latest else NOT_YET),
            "lastCheckpointCompletedTimestamp": float(
                latest.totals.latest_ack_timestamp if latest else NOT_YET
            ),
            "lastCompletedCheckpointId": float(latest.id if latest else NOT_YET),
            "lastCheckpointRestoreTimestamp": float(
                restored.restore_timestamp if restored else NOT_YET
            ),
        }
    return values


def job_scopes(job: JobReport, host: str) -> Iterator[MetricScope]:
    """A job, its subtasks, and the operators in them."""
    of_job = {"job_id": job.id, "job_name": job.name}
    yield MetricScope(ScopeKind.JOB_MANAGER_JOB, {"host": host, **of_job}, job_metrics(job))
    for vertex in job.vertices:
        for subtask in vertex.subtasks:
            yield from _task_scopes(vertex, subtask, of_job)


def _task_scopes(
    vertex: VertexReport, subtask: SubtaskReport, of_job: dict[str, str]
) -> Iterator[MetricScope]:
    current = subtask.current
    variables = {
        "host": current.host or "",
        "tm_id": current.task_manager or "",
        **of_job,
        "task_id": vertex.id,
        "task_name": vertex.name,
        "task_attempt_num": str(current.attempt),
        "subtask_index": str(subtask.index),
    }
    if subtask.metrics:
        yield MetricScope(ScopeKind.TASK, variables, subtask.metrics)
    ids = {operator.name: operator.id for operator in vertex.operators}
    for name, values in subtask.operator_metrics.items():
        own = {"operator_name": name, "operator_id": ids.get(name, "")}
        yield MetricScope(ScopeKind.OPERATOR, variables | own, values)
