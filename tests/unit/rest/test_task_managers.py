"""What `/taskmanagers` tells of an executor, and what the page may do with the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from riverrun.core.lifecycle import JobStatus
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.resource_ids import resource_id
from riverrun.rest.routes import ROUTES
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher

PATH = f"/taskmanagers/{resource_id('0')}"


def test_an_executor_names_the_subtasks_that_run_in_it(client: TestClient) -> None:
    subtasks = client.get(PATH).json()["subtasks"]

    assert [(each["vertexId"], each["subtask"]) for each in subtasks] == [
        (vertex.id, subtask.index)
        for vertex in reports.job().vertices
        for subtask in vertex.subtasks
    ]
    assert subtasks[0] == {
        "jobId": reports.JOB,
        "jobName": "orders",
        "vertexId": reports.SOURCE,
        "vertexName": reports.job().vertices[0].name,
        "subtask": 0,
        "attempt": 0,
        "status": "RUNNING",
        "since": reports.START + 5,
        "pid": 4711,
        "busyTimeMsPerSecond": 250.0,
    }


def test_subtasks_of_jobs_that_ended_are_not_in_an_executor(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.reports[reports.JOB] = reports.job(JobStatus.FINISHED)

    assert client.get(PATH).json()["subtasks"] == []


def test_what_spark_measures_is_among_the_metrics(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    (manager,) = dispatcher.managers
    dispatcher.managers = [replace(manager, measured={"Status.JVM.Memory.Heap.Peak": 5000.0})]

    (metric,) = client.get(f"{PATH}/metrics", params={"get": "Status.JVM.Memory.Heap.Peak"}).json()[
        "metrics"
    ]

    assert metric["value"] == "5000"


@pytest.mark.parametrize("can_end", [True, False])
def test_the_page_learns_whether_the_cluster_may_be_ended(
    dispatcher: RecordedDispatcher, *, can_end: bool
) -> None:
    context = RestContext(dispatcher, shut_down=(lambda: None) if can_end else None)

    with TestClient(rest_app(context, ROUTES)) as client:
        features = client.get("/config").json()["features"]

    assert features["web-shutdown"] is can_end
