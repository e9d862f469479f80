"""What is read from a report: known numbers as they are, unknown ones as unknown."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    CheckpointStatistics,
    CheckpointStatus,
    LatestCheckpoints,
    Totals,
)
from riverrun.cluster.job_report import JobReport, SubtaskReport
from riverrun.cluster.timelines.measures import JOB_SERIES, VERTEX_SERIES, JobMeasures, Rates
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from tests.unit.rest import reports
from tests.unit.rest.reports import START

SOURCE, SINK = "Source: orders", "Sink: totals"


def task(
    index: int = 0, *, attempt: int = 0, status: str = "RUNNING", **facts: Any
) -> SubtaskReport:
    return SubtaskReport(index=index, current=reports.attempt(status, attempt), **facts)


def job(source: list[SubtaskReport], sink: list[SubtaskReport], **facts: Any) -> JobReport:
    first, second = reports.job().vertices
    vertices = (
        msgspec.structs.replace(first, subtasks=tuple(source)),
        msgspec.structs.replace(second, subtasks=tuple(sink)),
    )
    return reports.job(vertices=vertices, made=START, **facts)


def read(measures: JobMeasures, report: JobReport) -> tuple[dict[str, float], ...]:
    """What is known of the job, of its source and of its sink, by name."""
    values = measures.of(report)
    parts, at = [], 0
    for names in (JOB_SERIES, VERTEX_SERIES, VERTEX_SERIES):
        named = zip(names, values[at : at + len(names)], strict=True)
        parts.append({name: value for name, value in named if not math.isnan(value)})
        at += len(names)
    assert at == len(values)
    return tuple(parts)


def counted(at: float, given: float, taken: float, **facts: Any) -> JobReport:
    """A job whose tasks are ``at`` ms old and have counted so many records."""
    times = {
        "accumulatedBusyTimeMs": at / 2,
        "accumulatedIdleTimeMs": at / 2,
        "accumulatedBackPressuredTimeMs": 0.0,
    }
    source = task(
        metrics={**times, "numRecordsIn": 0.0, "numRecordsOut": given},
        operator_metrics={SOURCE: {"numRecordsIn": 0.0, "numRecordsOut": given}},
        **facts,
    )
    sink = task(
        metrics={**times, "numRecordsIn": taken, "numRecordsOut": 0.0},
        operator_metrics={SINK: {"numRecordsIn": taken, "numRecordsOut": 0.0}},
        **facts,
    )
    return job([source], [sink])


def test_throughput_is_what_sources_give_and_sinks_take_by_the_clock_of_the_tasks() -> None:
    measures = JobMeasures()
    read(measures, counted(1000, given=100, taken=40))
    whole, source, sink = read(measures, counted(3000, given=300, taken=60))

    assert whole["records-in-per-second"] == source["records-in-per-second"] == 100
    assert whole["records-out-per-second"] == sink["records-in-per-second"] == 10
    assert sink["records-out-per-second"] == 0


def test_a_rate_stands_until_the_next_report_of_the_task() -> None:
    measures = JobMeasures()
    read(measures, counted(1000, given=100, taken=40))
    read(measures, counted(2000, given=150, taken=40))
    whole, _, _ = read(measures, counted(2000, given=150, taken=40))

    assert whole["records-in-per-second"] == 50


def test_after_a_restart_there_is_no_rate_until_there_is_something_to_compare() -> None:
    measures = JobMeasures()
    read(measures, counted(9000, given=900, taken=900))
    whole, source, _ = read(measures, counted(1000, given=20, taken=0, attempt=1))
    assert "records-in-per-second" not in whole
    assert "records-in-per-second" not in source
    assert whole["restarts"] == 1

    whole, _, _ = read(measures, counted(2000, given=25, taken=0, attempt=1))
    assert whole["records-in-per-second"] == 5


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1e9), st.floats(0, 1e9)), max_size=20))
def test_no_rate_is_negative(seen: list[tuple[int, float, float]]) -> None:
    rates = Rates()
    for attempt, count, at in seen:
        rate = rates.of("records", attempt, count, at)
        assert math.isnan(rate) or rate >= 0


def test_the_subtask_with_most_counts() -> None:
    def spending(busy: float, pressed: float) -> dict[str, float]:
        return {"busyTimeMsPerSecond": busy, "backPressuredTimeMsPerSecond": pressed}

    source = [task(0, metrics=spending(100, 900)), task(1, metrics=spending(300, 200))]
    sink = [task(metrics=spending(1200, 0))]
    whole, first, second = read(JobMeasures(), job(source, sink))

    assert (first["busy"], first["backpressured"]) == (0.3, 0.9)
    assert (second["busy"], second["backpressured"]) == (1.0, 0.0)
    assert (whole["busy"], whole["backpressured"]) == (1.0, 0.9)
    assert "idle" not in whole


def test_lag_is_that_of_the_watermark_which_is_furthest_behind() -> None:
    source = [
        task(
            0, metrics={"currentInputWatermark": MIN_TIMESTAMP, "currentOutputWatermark": START - 5}
        ),
        task(
            1, metrics={"currentInputWatermark": MIN_TIMESTAMP, "currentOutputWatermark": START - 9}
        ),
    ]
    sink = [task(metrics={"currentInputWatermark": START - 70.0})]
    whole, first, second = read(JobMeasures(), job(source, sink))

    assert (first["watermark-lag"], second["watermark-lag"]) == (9, 70)
    assert whole["watermark-lag"] == 70


@pytest.mark.parametrize("watermark", [MIN_TIMESTAMP, MAX_WATERMARK, math.nan])
def test_there_is_no_lag_without_a_watermark_and_after_the_end(watermark: float) -> None:
    found = task(metrics={"currentInputWatermark": float(watermark)})

    assert "watermark-lag" not in read(JobMeasures(), job([found], [found]))[0]


def test_latency_is_that_of_the_operator_which_is_reached_last() -> None:
    source = task(
        operator_metrics={SOURCE: {"latency.count": 4.0, "latency.p50": 0.0, "latency.p99": 1.0}}
    )
    sink = task(
        operator_metrics={SINK: {"latency.count": 4.0, "latency.p50": 30.0, "latency.p99": 80.0}}
    )
    whole, _, _ = read(JobMeasures(), job([source], [sink]))

    assert (whole["latency-p50"], whole["latency-p99"]) == (30, 80)


def test_of_a_job_that_reports_nothing_only_the_restarts_are_known() -> None:
    assert read(JobMeasures(), job([task()], [task(status="DEPLOYING")])) == (
        {"restarts": 0},
        {},
        {},
    )


def test_figures_of_tasks_that_have_ended_do_not_count() -> None:
    ended = task(status="FINISHED", metrics={"busyTimeMsPerSecond": 1000.0})

    assert "busy" not in read(JobMeasures(), job([ended], [task()]))[0]


def test_state_is_that_of_the_last_checkpoint() -> None:
    done = CheckpointStatistics(
        id=7,
        status=CheckpointStatus.COMPLETED,
        trigger_timestamp=START,
        tasks={},
        totals=Totals(checkpointed_size=10, state_size=400, end_to_end_duration=25),
    )
    found = CheckpointingStatistics(latest=LatestCheckpoints(completed=done))
    whole, _, _ = read(JobMeasures(), job([task()], [task()], checkpoints=found))

    assert (whole["state-size"], whole["checkpoint-duration"]) == (400, 25)
