"""A job's report, put together from what its parts know. Read on any thread, while the job runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.cluster.job_master.reports import TaskReports
from riverrun.cluster.job_master.tasks import TaskKey
from riverrun.cluster.job_report import (
    NOT_YET,
    AccumulatorReport,
    AttemptReport,
    EdgeReport,
    FailureReport,
    JobReport,
    OperatorReport,
    RescaleReport,
    SubtaskReport,
    VertexReport,
)
from riverrun.core.errors import Failure
from riverrun.core.ids import Millis, SubtaskId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.core.secrets import masked_settings
from riverrun.core.short_repr import short_repr
from riverrun.graph.execution_graph import (
    ExecutionGraph,
    ExecutionVertex,
    PastAttempt,
    Placement,
    Subtask,
)
from riverrun.graph.executor import FailureRecord, JobSubmission
from riverrun.graph.plan_json import ship_strategy
from riverrun.graph.sealed import kind_of

Places: TypeAlias = Mapping[tuple[str, int, int], Placement | None]
"""Task name, subtask and attempt -> where it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What the report is made of."""

    submission: JobSubmission
    execution: ExecutionGraph
    status: JobStatus
    times: Mapping[JobStatus, int]
    now: int
    reports: TaskReports = field(default_factory=TaskReports)
    """Of the current attempt, if there is one."""
    keys: Mapping[SubtaskId, TaskKey] = field(default_factory=dict)
    """Under which name the subtasks report."""
    failures: tuple[FailureRecord, ...] = ()
    failure: Failure | None = None
    checkpoints: CheckpointingStatistics | None = None
    checkpoint_folder: str | None = None
    rescales: tuple[RescaleReport, ...] = ()
    waiting_for: str | None = None


def job_report(facts: JobFacts) -> JobReport:
    """The report at ``facts.now``."""
    times, submission = facts.times, facts.submission
    vertices = tuple(facts.execution.vertices.values())
    places = _places(vertices)
    end = times.get(facts.status, NOT_YET) if facts.status.is_terminal_state() else NOT_YET
    return JobReport(
        id=str(submission.job),
        name=submission.name,
        status=facts.status.value,
        timestamps={status.value: times.get(status, 0) for status in JobStatus},
        start=min(times.values(), default=facts.now),
        end=end,
        made=facts.now,
        config=masked_settings(submission.config),
        vertices=tuple(_vertex(vertex, facts) for vertex in vertices),
        edges=tuple(_edges(facts.execution)),
        failures=tuple(_failure_record(each, places) for each in facts.failures),
        failure=None
        if facts.failure is None
        else failure_report(facts.failure, end, _attempts(facts.failures), places),
        checkpoints=facts.checkpoints,
        checkpoint_folder=facts.checkpoint_folder,
        accumulators=accumulator_reports(facts.reports.plain_accumulators()),
        rescales=facts.rescales,
        status_text=facts.waiting_for,
    )


def failure_report(
    failure: Failure,
    at: int,
    attempt: int = 0,
    places: Places | None = None,
) -> FailureReport:
    """``failure`` as it is shown, with where it happened as far as that is known."""
    place = None
    if places and failure.task is not None and failure.subtask is not None:
        place = places.get((failure.task, failure.subtask, attempt))
    return FailureReport(
        at=at,
        type_name=failure.type_name,
        message=failure.message,
        traceback=failure.traceback,
        operator=failure.operator,
        task=failure.task,
        subtask=failure.subtask,
        record=failure.record,
        hint=failure.hint,
        attempt=attempt,
        host=None if place is None else place.host,
        task_manager=None if place is None else place.task_manager,
    )


def accumulator_reports(values: Mapping[str, Any]) -> dict[str, AccumulatorReport]:
    """Accumulators as text."""
    return {
        name: AccumulatorReport(type_name=type(value).__name__, value=short_repr(value))
        for name, value in values.items()
    }


def _attempts(failures: Iterable[FailureRecord]) -> int:
    return max((each.attempt for each in failures), default=0)


def _places(vertices: Iterable[ExecutionVertex]) -> Places:
    places: dict[tuple[str, int, int], Placement | None] = {}
    for vertex in vertices:
        for subtask in vertex.subtasks:
            name, index = vertex.vertex.name, subtask.id.index
            places[name, index, subtask.attempt] = subtask.placement
            places |= {(name, index, past.attempt): past.placement for past in subtask.history}
    return places


def _failure_record(record: FailureRecord, places: Places) -> FailureReport:
    return failure_report(record.failure, record.at, record.attempt, places)


def _vertex(found: ExecutionVertex, facts: JobFacts) -> VertexReport:
    vertex = found.vertex
    return VertexReport(
        id=vertex.id.value,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        slot_sharing_group=vertex.slot_sharing_group,
        operators=tuple(
            OperatorReport(
                id=operator.operator_id,
                name=operator.name,
                uid=operator.uid,
                kind=kind_of(operator),
                parent=operator.parent,
                tag=operator.tag,
            )
            for operator in vertex.operators
        ),
        subtasks=tuple(_subtask(each, facts) for each in found.subtasks),
    )


def _subtask(subtask: Subtask, facts: JobFacts) -> SubtaskReport:
    key = facts.keys.get(subtask.id)
    metrics = {} if key is None else facts.reports.metrics_of(key)
    accumulators = {} if key is None else facts.reports.plain_accumulators_of(key)
    return SubtaskReport(
        index=subtask.id.index,
        current=_attempt(
            subtask.attempt,
            subtask.status,
            subtask.timestamps,
            subtask.placement,
            subtask.failure,
        ),
        past=tuple(_past(each) for each in subtask.history),
        metrics=metrics.get("", {}),
        operator_metrics={name: values for name, values in metrics.items() if name},
        accumulators=accumulator_reports(accumulators),
    )


def _past(past: PastAttempt) -> AttemptReport:
    return _attempt(past.attempt, past.status, past.timestamps, past.placement, past.failure)


def _attempt(
    number: int,
    status: TaskStatus,
    timestamps: Mapping[TaskStatus, Millis],
    placement: Placement | None,
    failure: Failure | None,
) -> AttemptReport:
    return AttemptReport(
        attempt=number,
        status=status.value,
        timestamps={each.value: at for each, at in timestamps.items()},
        host=None if placement is None else placement.host,
        task_manager=None if placement is None else placement.task_manager,
        pid=None if placement is None else placement.pid,
        failure=None
        if failure is None
        else failure_report(failure, timestamps.get(status, NOT_YET), number),
    )


def _edges(execution: ExecutionGraph) -> Iterable[EdgeReport]:
    for edge in execution.graph.edges:
        yield EdgeReport(
            source=edge.source.value,
            target=edge.target.value,
            ship_strategy=ship_strategy(edge.partitioning),
            source_operator=edge.source_operator,
            tag=edge.tag,
            input_index=edge.input_index,
        )
