"""Jobs as reports, for tests of the interface: nothing runs."""

from __future__ import annotations

from typing import Any

import msgspec

from riverrun.cluster.job_report import (
    AttemptReport,
    EdgeReport,
    FailureReport,
    JobReport,
    OperatorReport,
    SubtaskReport,
    VertexReport,
)
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.sealed import OperatorKind

JOB = "a" * 32
SOURCE = "b" * 32
SINK = "c" * 32
START = 1_700_000_000_000


def attempt(status: str = "RUNNING", number: int = 0, **facts: Any) -> AttemptReport:
    stamps = {"CREATED": START, "DEPLOYING": START + 1, status: START + 5}
    return AttemptReport(
        attempt=number,
        status=status,
        timestamps=stamps,
        host="worker-1",
        task_manager="0",
        pid=4711,
        **facts,
    )


def subtask(index: int, status: str = "RUNNING", **facts: Any) -> SubtaskReport:
    metrics = {"numRecordsIn": 10.0, "numRecordsOut": 20.0, "busyTimeMsPerSecond": 250.0}
    facts.setdefault("current", attempt(status))
    return SubtaskReport(index=index, metrics=metrics, **facts)


def vertex(id_: str, name: str, kind: OperatorKind, parallelism: int) -> VertexReport:
    return VertexReport(
        id=id_,
        name=name,
        parallelism=parallelism,
        max_parallelism=128,
        slot_sharing_group="default",
        operators=(OperatorReport(id=id_, name=name, kind=kind),),
        subtasks=tuple(subtask(index) for index in range(parallelism)),
    )


def job(status: JobStatus = JobStatus.RUNNING, **facts: Any) -> JobReport:
    values: dict[str, Any] = {
        "id": JOB,
        "name": "orders",
        "status": status.value,
        "timestamps": {each.value: 0 for each in JobStatus} | {"RUNNING": START},
        "start": START,
        "made": START + 1000,
        "config": {"parallelism.default": "2"},
        "vertices": (
            vertex(SOURCE, "Source: orders", OperatorKind.SOURCE, 2),
            vertex(SINK, "Sink: totals", OperatorKind.SINK, 1),
        ),
        "edges": (EdgeReport(source=SOURCE, target=SINK, ship_strategy="HASH"),),
    }
    return JobReport(**(values | facts))


def failure(message: str = "boom", **facts: Any) -> FailureReport:
    return FailureReport(at=START + 7, type_name="ValueError", message=message, **facts)


def changed(report: JobReport, **facts: Any) -> JobReport:
    return msgspec.structs.replace(report, **facts)
