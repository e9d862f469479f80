"""Bodies about the executors of the Spark application, which are the task managers here."""

from __future__ import annotations

import msgspec


class Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an executor, or a part of it, has; memory in megabytes."""

    cpu_cores: float
    task_heap_memory: int = 0
    task_off_heap_memory: int = 0
    managed_memory: int = 0
    network_memory: int = 0


class Hardware(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Cores, and bytes of memory that Spark manages."""

    cpu_cores: int
    physical_memory: int
    free_memory: int
    managed_memory: int


class Slot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A subtask's place."""

    job_id: str
    assigned_tasks: int
    resource: Resource


class TaskManagerBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An executor."""

    id: str
    executor: str
    """Spark's own name for it."""
    path: str
    """`host:port` of the executor."""
    data_port: int
    jmx_port: int = -1
    time_since_last_heartbeat: int
    """When it was seen last, in milliseconds since the epoch."""
    slots_number: int
    free_slots: int
    total_resource: Resource
    free_resource: Resource
    hardware: Hardware
    blocked: bool = False
    assigned_tasks: int = 0
    since: int = 0
    """When it came."""


class TaskManagersBody(msgspec.Struct, frozen=True):
    """All executors."""

    taskmanagers: list[TaskManagerBody]


class RunningSubtask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A subtask that runs in an executor."""

    job_id: str
    job_name: str
    vertex_id: str
    vertex_name: str
    subtask: int
    attempt: int
    status: str
    since: int
    """When it came to its status."""
    pid: int | None = None
    """Of the worker process."""
    busy_time_ms_per_second: float | None = None
    """``None``: not measured yet."""


class TaskManagerDetail(TaskManagerBody, frozen=True, kw_only=True, rename="camel"):
    """An executor with the subtasks that run in it."""

    allocated_slots: list[Slot]
    subtasks: list[RunningSubtask]
