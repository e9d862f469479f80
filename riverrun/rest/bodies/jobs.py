"""Bodies about jobs as a whole."""

from __future__ import annotations

from typing import Any

import msgspec

from riverrun.rest.bodies.io_metrics import IoMetrics


class JobIdWithStatus(msgspec.Struct, frozen=True):
    """A job in the shortest list."""

    id: str
    status: str


class JobIdsWithStatus(msgspec.Struct, frozen=True):
    """All jobs, in short."""

    jobs: list[JobIdWithStatus]


class LastCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that has ended, as lists show it."""

    id: int
    timestamp: int
    """When it completed or failed."""
    duration: int
    is_savepoint: bool
    failure: str | None = None
    """Why it failed, in one line; null when it completed."""


class JobDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A job in a list."""

    jid: str
    name: str
    state: str
    start_time: int = msgspec.field(name="start-time")
    end_time: int = msgspec.field(name="end-time")
    duration: int
    last_modification: int = msgspec.field(name="last-modification")
    tasks: dict[str, int]
    """How many subtasks there are in each status, lower case, and in `total`."""
    pending_operators: int = msgspec.field(name="pending-operators", default=0)
    job_type: str = msgspec.field(name="jobType", default="STREAMING")
    scheduler_type: str = msgspec.field(name="schedulerType", default="Default")
    status_text: str | None = msgspec.field(name="status-text", default=None)
    """What the job waits for, if it waits."""
    records_per_second: float | None = msgspec.field(name="records-per-second", default=None)
    """What its sources give; null while they tell nothing."""
    back_pressure: float | None = msgspec.field(name="back-pressure", default=None)
    """The largest share of its time that a subtask waits for those after it, 0 to 1."""
    restarts: int = 0
    last_checkpoint: LastCheckpoint | None = msgspec.field(name="last-checkpoint", default=None)
    """The newest that completed."""
    last_failed_checkpoint: LastCheckpoint | None = msgspec.field(
        name="last-failed-checkpoint", default=None
    )
    failure: str | None = None
    """What went wrong last, in one line."""


class JobsOverview(msgspec.Struct, frozen=True):
    """All jobs."""

    jobs: list[JobDetails]


class PlanInput(msgspec.Struct, frozen=True, kw_only=True):
    """Where a vertex of the plan reads from."""

    num: int
    id: str
    ship_strategy: str
    exchange: str = "pipelined_bounded"
    side_output: str | msgspec.UnsetType = msgspec.UNSET
    """Name of the side output that it reads, if it reads one."""


class PlanOperator(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operators that are chained in a vertex."""

    name: str
    parent: int | None = None
    """Position of the operator in the chain that it reads from."""
    side_output: str | msgspec.UnsetType = msgspec.UNSET
    """Name of the side output of its parent that it reads, if it reads one."""


class PlanNode(msgspec.Struct, frozen=True, kw_only=True):
    """A vertex of the plan."""

    id: str
    parallelism: int
    operator: str = ""
    operator_strategy: str = ""
    description: str
    inputs: list[PlanInput] = []
    operators: list[PlanOperator] = []
    """In the order of the chain."""
    optimizer_properties: dict[str, Any] = {}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The job graph, inputs first."""

    jid: str
    name: str
    type: str = "STREAMING"
    nodes: list[PlanNode]


class JobPlan(msgspec.Struct, frozen=True):
    """The plan alone."""

    plan: Plan


class JobVertex(msgspec.Struct, frozen=True, kw_only=True):
    """A vertex of a job, over all its subtasks."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int = msgspec.field(name="maxParallelism")
    slot_sharing_group: str = msgspec.field(name="slotSharingGroupName")
    status: str
    start_time: int = msgspec.field(name="start-time")
    end_time: int = msgspec.field(name="end-time")
    duration: int
    tasks: dict[str, int]
    """How many subtasks there are in each status."""
    metrics: IoMetrics


class JobDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A job with its vertices and its plan."""

    jid: str
    name: str
    is_stoppable: bool = msgspec.field(name="isStoppable", default=True)
    state: str
    status_text: str | None = msgspec.field(name="status-text", default=None)
    """What the job waits for, if it waits."""
    job_type: str = msgspec.field(name="job-type", default="STREAMING")
    scheduler_type: str = msgspec.field(name="schedulerType", default="Default")
    start_time: int = msgspec.field(name="start-time")
    end_time: int = msgspec.field(name="end-time")
    duration: int
    max_parallelism: int = msgspec.field(name="maxParallelism", default=-1)
    now: int
    timestamps: dict[str, int]
    vertices: list[JobVertex]
    status_counts: dict[str, int] = msgspec.field(name="status-counts")
    """How many vertices there are in each status."""
    plan: Plan
    pending_operators: int = msgspec.field(name="pending-operators", default=0)


class JobStatusInfo(msgspec.Struct, frozen=True):
    """Where a job stands."""

    status: str
