"""Everything that may be shown about a job, as plain data at one moment.

A running job makes one when it is asked; the last one is kept as the job's history. What the REST
interface says about a job it says from here, so that running and finished jobs look the same.
Times are milliseconds since the epoch; -1 stands for "not yet", as in Flink.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.graph.sealed import OperatorKind

NOT_YET = -1


class FailureReport(msgspec.Struct, frozen=True, kw_only=True):
    """Something that went wrong, whether the job survived it or not."""

    at: int
    type_name: str
    message: str
    traceback: str = ""
    """The user's own frames, where it was the user's code."""
    operator: str | None = None
    task: str | None = None
    subtask: int | None = None
    record: str | None = None
    hint: str | None = None
    attempt: int = 0
    host: str | None = None
    task_manager: str | None = None


class AttemptReport(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a subtask."""

    attempt: int
    status: str
    """A ``TaskStatus``."""
    timestamps: dict[str, int]
    """When it came to each status that it has had."""
    host: str | None = None
    task_manager: str | None = None
    """Id of the executor that it ran on."""
    pid: int | None = None
    failure: FailureReport | None = None


class SubtaskReport(msgspec.Struct, frozen=True, kw_only=True):
    """One parallel copy of a vertex."""

    index: int
    current: AttemptReport
    past: tuple[AttemptReport, ...] = ()
    """Oldest first; a bounded number."""
    metrics: dict[str, float] = {}
    """Of the task itself."""
    operator_metrics: dict[str, dict[str, float]] = {}
    """Operator name -> metric name -> value."""
    accumulators: dict[str, AccumulatorReport] = {}


class AccumulatorReport(msgspec.Struct, frozen=True, kw_only=True):
    """An accumulator as text: what it holds may be anything."""

    type_name: str
    value: str


class OperatorReport(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of a vertex, in chain order."""

    id: str
    name: str
    uid: str | None = None
    kind: OperatorKind = OperatorKind.OPERATOR
    parent: int | None = None
    """Position of the operator in the chain that it reads from."""
    tag: str | None = None
    """Name of the side output of ``parent`` that it reads."""


class VertexReport(msgspec.Struct, frozen=True, kw_only=True):
    """A task of the job with its subtasks."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    operators: tuple[OperatorReport, ...]
    subtasks: tuple[SubtaskReport, ...]


class EdgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A connection between two vertices."""

    source: str
    target: str
    ship_strategy: str
    source_operator: int = 0
    """Position in the source vertex's chain."""
    tag: str | None = None
    input_index: int = 0


class RescaleCause(Enum):
    """Who wanted it; the values are Flink's."""

    REQUEST = "UPDATE_REQUIREMENT"
    SLOTS = "NEW_RESOURCE_AVAILABLE"
    FAILOVER = "RECOVERABLE_FAILOVER"


class RescaleReport(msgspec.Struct, frozen=True, kw_only=True):
    """One change of parallelism."""

    id: str
    began: int
    ended: int = NOT_YET
    cause: RescaleCause = RescaleCause.REQUEST
    before: dict[str, int] = {}
    """Vertex id -> parallelism."""
    after: dict[str, int] = {}
    failure: str | None = None


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job at one moment."""

    id: str
    name: str
    status: str
    """A ``JobStatus``."""
    timestamps: dict[str, int]
    """When the job first came to each status that it has had; 0 for those that it has not had."""
    start: int
    end: int = NOT_YET
    made: int
    """When this report was made."""
    config: dict[str, str] = {}
    """With secrets masked."""
    vertices: tuple[VertexReport, ...] = ()
    """Inputs first."""
    edges: tuple[EdgeReport, ...] = ()
    failures: tuple[FailureReport, ...] = ()
    """Oldest first; a bounded number."""
    failure: FailureReport | None = None
    """What ended the job, once it is FAILED."""
    checkpoints: CheckpointingStatistics | None = None
    """``None`` when the job takes none."""
    checkpoint_folder: str | None = None
    accumulators: dict[str, AccumulatorReport] = {}
    rescales: tuple[RescaleReport, ...] = ()
    status_text: str | None = None
    """What the job waits for, in words, if it waits."""

    @property
    def restarts(self) -> int:
        """How often its tasks began anew."""
        return max((s.current.attempt for v in self.vertices for s in v.subtasks), default=0)


class CheckpointGlance(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that has ended, in a list of jobs."""

    id: int
    at: int
    """When it completed or failed."""
    duration: int
    is_savepoint: bool = False
    failure: str | None = None
    """Why it failed, in one line; ``None`` when it completed."""


class JobSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A job in a list."""

    id: str
    name: str
    status: str
    start: int
    end: int = NOT_YET
    last_modification: int
    tasks: dict[str, int]
    """Task status -> how many subtasks."""
    status_text: str | None = None
    """What the job waits for, in words, if it waits."""
    records_per_second: float | None = None
    """What its sources give; ``None`` while they tell nothing."""
    back_pressure: float | None = None
    """The largest share of its time that a subtask waits for those after it; ``None``: not told."""
    restarts: int = 0
    last_checkpoint: CheckpointGlance | None = None
    """The newest that completed."""
    last_failed_checkpoint: CheckpointGlance | None = None
    failure: str | None = None
    """What went wrong last, in one line."""
