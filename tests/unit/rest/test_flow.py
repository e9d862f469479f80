from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

from riverrun.cluster.job_report import EdgeReport, OperatorReport, SubtaskReport
from riverrun.protocol.elements import MIN_TIMESTAMP
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher, check_against_contract
from tests.unit.rest.reports import JOB, SINK, SOURCE


def subtask(
    index: int, status: str = "RUNNING", number: int = 0, **metrics: float
) -> SubtaskReport:
    current = reports.attempt(status, number)
    return SubtaskReport(index=index, current=current, metrics=metrics)


def flow(
    client: TestClient, dispatcher: RecordedDispatcher, *subtasks: SubtaskReport, vertex: int = 1
) -> Any:
    """What is said about the sink, or the source, with these subtasks."""
    job = reports.job()
    vertices = list(job.vertices)
    vertices[vertex] = replace(vertices[vertex], subtasks=subtasks)
    dispatcher.reports[JOB] = reports.changed(job, vertices=tuple(vertices))
    body = client.get(f"/jobs/{JOB}/flow").json()
    assert [each["id"] for each in body["vertices"]] == [SOURCE, SINK]
    return body["vertices"][vertex]


def test_shares_are_means_and_rates_are_sums(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    found = flow(
        client,
        dispatcher,
        subtask(0, busyTimeMsPerSecond=900, idleTimeMsPerSecond=100, numRecordsInPerSecond=30),
        subtask(1, busyTimeMsPerSecond=100, idleTimeMsPerSecond=900, numRecordsInPerSecond=10),
    )

    assert (found["busy"], found["idle"], found["backpressured"]) == (0.5, 0.5, None)
    assert (found["records-in-per-second"], found["records-out-per-second"]) == (40, None)
    assert found["busiest"] == {"subtask": 0, "busy": 0.9}
    assert found["heaviest"] == {"subtask": 0, "share": 0.75}


def test_a_share_is_never_more_than_all(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    assert flow(client, dispatcher, subtask(0, busyTimeMsPerSecond=1003.5))["busy"] == 1


def test_what_is_not_told_is_null(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    found = flow(client, dispatcher, subtask(0))

    assert {name for name, value in found.items() if value is not None} == {"id", "attempt"}


@pytest.mark.parametrize("status", ["FINISHED", "FAILED", "CANCELED", "DEPLOYING"])
def test_figures_of_subtasks_that_do_not_run_are_left_out(
    client: TestClient, dispatcher: RecordedDispatcher, status: str
) -> None:
    found = flow(client, dispatcher, subtask(0, status, 3, busyTimeMsPerSecond=900))

    assert (found["busy"], found["attempt"]) == (None, 3)


def test_the_watermark_is_the_lowest_of_what_comes_in(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    ahead = subtask(0, currentInputWatermark=2000, currentOutputWatermark=1500)
    behind = subtask(1, currentInputWatermark=1000, currentOutputWatermark=500)

    assert flow(client, dispatcher, ahead, behind)["watermark"] == 1000


def test_the_watermark_of_a_source_is_what_it_gives(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    source = subtask(0, currentInputWatermark=MIN_TIMESTAMP, currentOutputWatermark=1500)

    assert flow(client, dispatcher, source, vertex=0)["watermark"] == 1500


def test_a_source_takes_in_what_it_reads(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    reading = {"Source: orders": {"numRecordsOutPerSecond": 30.0}}
    source = replace(subtask(0, numRecordsInPerSecond=0), operator_metrics=reading)
    idle = replace(
        subtask(1), operator_metrics={"Source: orders": {"numRecordsOutPerSecond": 10.0}}
    )

    found = flow(client, dispatcher, source, idle, vertex=0)

    assert found["records-in-per-second"] == 40
    assert found["heaviest"] == {"subtask": 0, "share": 0.75}


def test_before_the_first_watermark_there_is_none(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    begun = subtask(0, currentInputWatermark=1000)
    waiting = subtask(1, currentInputWatermark=MIN_TIMESTAMP)

    assert flow(client, dispatcher, begun, waiting)["watermark"] is None


def test_without_records_no_subtask_is_the_heaviest(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    assert flow(client, dispatcher, subtask(0, numRecordsInPerSecond=0))["heaviest"] is None


def test_the_plan_names_chained_operators_and_side_outputs(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    job = reports.job()
    chain = (
        OperatorReport(id=SOURCE, name="Source: orders"),
        OperatorReport(id=SINK, name="odd", parent=0, tag="odd orders"),
    )
    source = replace(job.vertices[0], operators=chain)
    edge = EdgeReport(source=SOURCE, target=SINK, ship_strategy="HASH", tag="late")
    dispatcher.reports[JOB] = reports.changed(
        job, vertices=(source, job.vertices[1]), edges=(edge,)
    )

    response = client.get(f"/jobs/{JOB}/plan")

    check_against_contract("GET", "/jobs/{jobid}/plan", 200, response.content)
    first, second = response.json()["plan"]["nodes"]
    assert first["operators"] == [
        {"name": "Source: orders", "parent": None},
        {"name": "odd", "parent": 0, "side_output": "odd orders"},
    ]
    assert second["inputs"][0]["side_output"] == "late"
