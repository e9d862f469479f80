"""What the decision core wants done: the shell carries these out in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from riverrun.cluster.job_master.tasks import TaskKey
from riverrun.core.errors import Failure
from riverrun.core.lifecycle import JobStatus


@dataclass(frozen=True, slots=True)
class StartTasks:
    """Tell every task that records may flow."""


@dataclass(frozen=True, slots=True)
class CancelTasks:
    """Tell every connected task to leave."""

    reason: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Drop the connection of a task that does not answer."""

    task: TaskKey


@dataclass(frozen=True, slots=True)
class CancelEngine:
    """Tell the engine to end the job; it answers with EngineEnded. May be decided again."""


@dataclass(frozen=True, slots=True)
class DrainDelivery:
    """Let the client take what has arrived, then report DeliveryDrained."""


@dataclass(frozen=True, slots=True)
class DropDelivery:
    """Forget what the client has not taken yet."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Release everything and tell those who wait; nothing is decided after this."""

    status: JobStatus
    failure: Failure | None


Decision: TypeAlias = (
    StartTasks | CancelTasks | Disconnect | CancelEngine | DrainDelivery | DropDelivery | Finish
)
