"""What the decision core is told: facts, in the order in which the JobMaster learned them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from riverrun.cluster.job_master.tasks import TaskKey
from riverrun.core.errors import Failure
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.execution_graph import Placement
from riverrun.protocol.control import FailureOrigin


@dataclass(frozen=True, slots=True)
class JobStarted:
    """The engine is being told to run the job."""


@dataclass(frozen=True, slots=True)
class TaskRegistered:
    """A task that ``AttemptState.refusal`` had nothing against is connected."""

    task: TaskKey
    placement: Placement


@dataclass(frozen=True, slots=True)
class TaskStatusReported:
    """The task says that it moved."""

    task: TaskKey
    status: TaskStatus


@dataclass(frozen=True, slots=True)
class TaskFailureReported:
    """The task says why it fails."""

    task: TaskKey
    failure: Failure
    origin: FailureOrigin


@dataclass(frozen=True, slots=True)
class TaskEndReported:
    """The task said its last words."""

    task: TaskKey
    outcome: TaskStatus


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The task's connection is closed, from whichever side; expected after its last words."""

    task: TaskKey


@dataclass(frozen=True, slots=True)
class HeartbeatMissed:
    """Nothing came from the task for longer than the heartbeat timeout."""

    task: TaskKey
    silent_ms: float


@dataclass(frozen=True, slots=True)
class EngineEnded:
    """The engine holds nothing of the job any more; ``failure`` is ``None`` when it succeeded."""

    failure: Failure | None


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The client wants the job to stop."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The job goes on with another attempt: this one stops, and what it sent the client still counts."""

    reason: str


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """The client's handler raised, or a run for it could not be read."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class DeliveryDrained:
    """The client has taken everything that arrived before DrainDelivery was decided."""


@dataclass(frozen=True, slots=True)
class CheckpointsFailed:
    """More checkpoints failed than the job bears."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing happened; a deadline may be due."""


Event: TypeAlias = (
    JobStarted
    | TaskRegistered
    | TaskStatusReported
    | TaskFailureReported
    | TaskEndReported
    | ConnectionLost
    | HeartbeatMissed
    | EngineEnded
    | CancelRequested
    | StopRequested
    | DeliveryFailed
    | DeliveryDrained
    | CheckpointsFailed
    | TimePassed
)
