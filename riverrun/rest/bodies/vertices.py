"""Bodies about a job's vertices and their subtasks."""

from __future__ import annotations

from typing import Any

import msgspec

from riverrun.rest.bodies.io_metrics import IoMetrics


class SubtaskAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a subtask."""

    subtask: int
    status: str
    attempt: int
    endpoint: str
    """`host:pid` of the worker process."""
    start_time: int = msgspec.field(name="start-time")
    end_time: int = msgspec.field(name="end-time")
    duration: int
    metrics: IoMetrics
    taskmanager_id: str = msgspec.field(name="taskmanager-id")
    status_duration: dict[str, int] = msgspec.field(name="status-duration")
    other_concurrent_attempts: list[Any] = msgspec.field(
        name="other-concurrent-attempts", default_factory=list
    )


class Aggregated(msgspec.Struct, frozen=True, kw_only=True):
    """Figures over subtasks: name -> `min`, `max`, `avg`, `sum`, ... -> value."""

    metrics: dict[str, dict[str, int]]
    status_duration: dict[str, dict[str, int]] = msgspec.field(name="status-duration")


class VertexDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A vertex, subtask by subtask."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int = msgspec.field(name="maxParallelism")
    now: int
    subtasks: list[SubtaskAttempt]
    aggregated: Aggregated


class SubtaskTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When a subtask came to each of its states."""

    subtask: int
    endpoint: str
    duration: int
    timestamps: dict[str, int]


class VertexTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When the subtasks of a vertex came to each of their states."""

    id: str
    name: str
    now: int
    subtasks: list[SubtaskTimes]


class VertexOnTaskManager(msgspec.Struct, frozen=True, kw_only=True):
    """The subtasks of a vertex that run on one executor."""

    endpoint: str
    status: str
    start_time: int = msgspec.field(name="start-time")
    end_time: int = msgspec.field(name="end-time")
    duration: int
    metrics: IoMetrics
    status_counts: dict[str, int] = msgspec.field(name="status-counts")
    taskmanager_id: str = msgspec.field(name="taskmanager-id")
    aggregated: Aggregated


class VertexTaskManagers(msgspec.Struct, frozen=True, kw_only=True):
    """A vertex, executor by executor."""

    id: str
    name: str
    now: int
    taskmanagers: list[VertexOnTaskManager]


class SubtaskBackPressure(msgspec.Struct, frozen=True, kw_only=True):
    """How a subtask spends its time: shares of 1."""

    subtask: int
    attempt_number: int = msgspec.field(name="attempt-number")
    level: str = msgspec.field(name="backpressureLevel")
    ratio: float
    idle_ratio: float = msgspec.field(name="idleRatio")
    busy_ratio: float = msgspec.field(name="busyRatio")
    other_concurrent_attempts: list[Any] = msgspec.field(
        name="other-concurrent-attempts", default_factory=list
    )


class BackPressure(msgspec.Struct, frozen=True, kw_only=True):
    """How the subtasks of a vertex spend their time."""

    status: str = "ok"
    level: str = msgspec.field(name="backpressureLevel")
    end_timestamp: int = msgspec.field(name="end-timestamp")
    subtasks: list[SubtaskBackPressure]


class UserAccumulator(msgspec.Struct, frozen=True, kw_only=True):
    """An accumulator, as text."""

    name: str
    type: str
    value: str


class VertexAccumulators(msgspec.Struct, frozen=True, kw_only=True):
    """Accumulators of a vertex, over all its subtasks."""

    id: str
    accumulators: list[UserAccumulator] = msgspec.field(name="user-accumulators")


class SubtaskAccumulators(msgspec.Struct, frozen=True, kw_only=True):
    """Accumulators of one subtask."""

    subtask: int
    attempt: int
    endpoint: str
    accumulators: list[UserAccumulator] = msgspec.field(name="user-accumulators")


class SubtasksAccumulators(msgspec.Struct, frozen=True, kw_only=True):
    """Accumulators of a vertex, subtask by subtask."""

    id: str
    parallelism: int
    subtasks: list[SubtaskAccumulators]


class AttemptAccumulators(msgspec.Struct, frozen=True, kw_only=True):
    """Accumulators of one attempt of a subtask."""

    id: str
    subtask: int
    attempt: int
    accumulators: list[UserAccumulator] = msgspec.field(name="user-accumulators")
