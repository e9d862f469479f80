"""From reports to bodies: what several handlers share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import UNSET

from riverrun.cluster.job_report import (
    NOT_YET,
    AttemptReport,
    CheckpointGlance,
    JobReport,
    JobSummary,
    OperatorReport,
    SubtaskReport,
    VertexReport,
)
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.execution_graph import aggregate_status
from riverrun.rest.bodies.io_metrics import io_metrics
from riverrun.rest.bodies.jobs import (
    JobDetail,
    JobDetails,
    JobVertex,
    LastCheckpoint,
    Plan,
    PlanInput,
    PlanNode,
    PlanOperator,
)


def duration(start: int, end: int, now: int) -> int:
    """From ``start`` until ``end``, or until ``now``; -1 when it has not begun."""
    if start == NOT_YET:
        return NOT_YET
    return max(0, (now if end == NOT_YET else end) - start)


def started_at(attempt: AttemptReport) -> int:
    """When the attempt was deployed, or -1."""
    return attempt.timestamps.get(TaskStatus.DEPLOYING.value, NOT_YET)


def ended_at(attempt: AttemptReport) -> int:
    """When the attempt came to its end, or -1."""
    if not TaskStatus(attempt.status).is_terminal():
        return NOT_YET
    return attempt.timestamps.get(attempt.status, NOT_YET)


def status_counts(statuses: Iterable[str]) -> dict[str, int]:
    """How many there are of each task status, all of them named."""
    counts = Counter(statuses)
    return {status.value: counts[status.value] for status in TaskStatus}


def status_of(vertex: VertexReport) -> TaskStatus:
    """One status for all subtasks, as Flink sums them up."""
    return aggregate_status(Counter(TaskStatus(each.current.status) for each in vertex.subtasks))


def job_in_list(job: JobSummary, now: int) -> JobDetails:
    """A job as lists show it."""
    tasks = {name.lower(): count for name, count in status_counts(()).items()}
    tasks |= {name.lower(): count for name, count in job.tasks.items()}
    return JobDetails(
        jid=job.id,
        name=job.name,
        state=job.status,
        start_time=job.start,
        end_time=job.end,
        duration=duration(job.start, job.end, now),
        last_modification=job.last_modification,
        tasks={"total": sum(job.tasks.values()), **tasks},
        status_text=job.status_text,
        records_per_second=job.records_per_second,
        back_pressure=job.back_pressure,
        restarts=job.restarts,
        last_checkpoint=_last(job.last_checkpoint),
        last_failed_checkpoint=_last(job.last_failed_checkpoint),
        failure=job.failure,
    )


def _last(found: CheckpointGlance | None) -> LastCheckpoint | None:
    if found is None:
        return None
    return LastCheckpoint(
        id=found.id,
        timestamp=found.at,
        duration=found.duration,
        is_savepoint=found.is_savepoint,
        failure=found.failure,
    )


def job_detail(job: JobReport) -> JobDetail:
    """A job as its page shows it."""
    vertices = [job_vertex(vertex, job.made) for vertex in job.vertices]
    return JobDetail(
        jid=job.id,
        name=job.name,
        state=job.status,
        status_text=job.status_text,
        start_time=job.start,
        end_time=job.end,
        duration=duration(job.start, job.end, job.made),
        now=job.made,
        timestamps=job.timestamps,
        vertices=vertices,
        status_counts=status_counts(vertex.status for vertex in vertices),
        plan=plan_of(job),
    )


def job_vertex(vertex: VertexReport, now: int) -> JobVertex:
    """A vertex over all its subtasks."""
    start, end = span_of(vertex.subtasks)
    return JobVertex(
        id=vertex.id,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        slot_sharing_group=vertex.slot_sharing_group,
        status=status_of(vertex).value,
        start_time=start,
        end_time=end,
        duration=duration(start, end, now),
        tasks=status_counts(subtask.current.status for subtask in vertex.subtasks),
        metrics=io_metrics(vertex.subtasks),
    )


def span_of(subtasks: Iterable[SubtaskReport]) -> tuple[int, int]:
    """When the first of them started and the last ended; -1 for what has not happened."""
    attempts = [subtask.current for subtask in subtasks]
    starts = [time for each in attempts if (time := started_at(each)) != NOT_YET]
    ends = [ended_at(each) for each in attempts]
    return min(starts, default=NOT_YET), NOT_YET if NOT_YET in ends else max(ends, default=NOT_YET)


def plan_of(job: JobReport) -> Plan:
    """The job graph in the form that Flink's page draws."""
    inputs: Mapping[str, list[PlanInput]] = {vertex.id: [] for vertex in job.vertices}
    for edge in job.edges:
        ends = inputs[edge.target]
        ends.append(
            PlanInput(
                num=len(ends),
                id=edge.source,
                ship_strategy=edge.ship_strategy,
                side_output=UNSET if edge.tag is None else edge.tag,
            )
        )
    nodes = [
        PlanNode(
            id=vertex.id,
            parallelism=vertex.parallelism,
            description=vertex.name,
            inputs=inputs[vertex.id],
            operators=[_plan_operator(operator) for operator in vertex.operators],
        )
        for vertex in job.vertices
    ]
    return Plan(jid=job.id, name=job.name, nodes=nodes)


def _plan_operator(operator: OperatorReport) -> PlanOperator:
    return PlanOperator(
        name=operator.name,
        parent=operator.parent,
        side_output=UNSET if operator.tag is None else operator.tag,
    )
