"""`/taskmanagers`: the executors of the Spark application."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

import msgspec

from riverrun.cluster.job_report import JobReport, SubtaskReport, VertexReport
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.core.lifecycle import TaskStatus
from riverrun.rest.bodies.metrics import AggregatedMetrics, Metrics
from riverrun.rest.bodies.task_managers import (
    Hardware,
    Resource,
    RunningSubtask,
    Slot,
    TaskManagerBody,
    TaskManagerDetail,
    TaskManagersBody,
)
from riverrun.rest.context import RestContext
from riverrun.rest.handlers.metrics import Aggregation, Wanted
from riverrun.rest.metric_scopes import running_jobs, task_manager_metrics
from riverrun.rest.metric_values import aggregated, names_in, picked
from riverrun.rest.problems import not_found
from riverrun.rest.resource_ids import resource_id
from riverrun.rest.routing import Call, Nothing, Route

_MB: Final = 1 << 20


class OfTaskManager(msgspec.Struct, frozen=True):
    """The path names an executor."""

    taskmanagerid: str


class OverTaskManagers(Aggregation, frozen=True):
    """Over which executors, by their ids."""

    taskmanagers: str | None = None


def all_of_them(rest: RestContext, call: Call[Nothing, Nothing, None]) -> TaskManagersBody:
    """The executors that are there."""
    del call
    return TaskManagersBody([_body(each) for each in rest.dispatcher.task_managers()])


def detail(rest: RestContext, call: Call[OfTaskManager, Nothing, None]) -> TaskManagerDetail:
    """An executor with the subtasks that run in it."""
    manager = manager_of(rest, call.path)
    subtasks = _subtasks_on(rest, manager.id)
    tasks = Counter(subtask.job_id for subtask in subtasks)
    each = _resource(manager, 1)
    slots = [Slot(job_id=job, assigned_tasks=n, resource=each) for job, n in tasks.items()]
    return TaskManagerDetail(
        **msgspec.structs.asdict(_body(manager)), allocated_slots=slots, subtasks=subtasks
    )


def metrics(rest: RestContext, call: Call[OfTaskManager, Wanted, None]) -> Metrics:
    """Metrics of an executor."""
    manager = manager_of(rest, call.path)
    return Metrics(picked(task_manager_metrics(manager), names_in(call.query.get)))


def over_task_managers(
    rest: RestContext, call: Call[Nothing, OverTaskManagers, None]
) -> AggregatedMetrics:
    """Metrics summed up over executors."""
    wanted = names_in(call.query.taskmanagers)
    scopes = [
        task_manager_metrics(each)
        for each in rest.dispatcher.task_managers()
        if not wanted or each.id in wanted or resource_id(each.id) in wanted
    ]
    return AggregatedMetrics(aggregated(scopes, names_in(call.query.get), names_in(call.query.agg)))


def manager_of(rest: RestContext, path: OfTaskManager) -> TaskManager:
    """The executor that a path names; HttpProblem 404."""
    managers = rest.dispatcher.task_managers()
    for manager in managers:
        if path.taskmanagerid in (manager.id, resource_id(manager.id)):
            return manager
    there = ", ".join(each.id for each in managers) or "none"
    raise not_found(f"task manager {path.taskmanagerid!r}: is not there; there are: {there}")


def _subtasks_on(rest: RestContext, manager: str) -> list[RunningSubtask]:
    return [
        _subtask(job, vertex, subtask)
        for job in running_jobs(rest.dispatcher)
        for vertex in job.vertices
        for subtask in vertex.subtasks
        if subtask.current.task_manager == manager
        and not TaskStatus(subtask.current.status).is_terminal()
    ]


def _subtask(job: JobReport, vertex: VertexReport, subtask: SubtaskReport) -> RunningSubtask:
    current = subtask.current
    return RunningSubtask(
        job_id=job.id,
        job_name=job.name,
        vertex_id=vertex.id,
        vertex_name=vertex.name,
        subtask=subtask.index,
        attempt=current.attempt,
        status=current.status,
        since=current.timestamps.get(current.status, 0),
        pid=current.pid,
        busy_time_ms_per_second=subtask.metrics.get("busyTimeMsPerSecond"),
    )


def _body(manager: TaskManager) -> TaskManagerBody:
    return TaskManagerBody(
        id=resource_id(manager.id),
        executor=manager.id,
        path=f"{manager.host}:{manager.port}",
        data_port=manager.port,
        time_since_last_heartbeat=int(time.time() * 1000),
        slots_number=manager.slots,
        free_slots=manager.slots_free,
        total_resource=_resource(manager, manager.slots),
        free_resource=_resource(manager, manager.slots_free),
        hardware=Hardware(
            cpu_cores=manager.cores,
            physical_memory=manager.memory_max,
            free_memory=max(0, manager.memory_max - manager.memory_used),
            managed_memory=0,
        ),
        assigned_tasks=manager.slots_used,
        since=manager.since,
    )


def _resource(manager: TaskManager, slots: int) -> Resource:
    share = slots / manager.slots if manager.slots else 0.0
    return Resource(
        cpu_cores=manager.cores * share, task_heap_memory=int(manager.memory_max * share / _MB)
    )


ROUTES: Final = (
    Route("GET", "/taskmanagers", all_of_them, gives=TaskManagersBody),
    Route(
        "GET",
        "/taskmanagers/metrics",
        over_task_managers,
        gives=AggregatedMetrics,
        query=OverTaskManagers,
    ),
    Route(
        "GET", "/taskmanagers/{taskmanagerid}", detail, gives=TaskManagerDetail, of=OfTaskManager
    ),
    Route(
        "GET",
        "/taskmanagers/{taskmanagerid}/metrics",
        metrics,
        gives=Metrics,
        of=OfTaskManager,
        query=Wanted,
    ),
)
