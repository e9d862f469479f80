"""Time lines over REST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from riverrun.cluster.timelines.jobs import JobsTimeLines
from riverrun.core.lifecycle import JobStatus
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.reports import JOB, SINK, START

SECONDS = 900


@pytest.fixture
def lines() -> JobsTimeLines:
    lines = JobsTimeLines()
    for second in range(SECONDS):
        lines.sample([reports.job(made=START + second * 1000)], lambda _: True)
    return lines


@pytest.fixture
def client(dispatcher: RecordedDispatcher, lines: JobsTimeLines) -> Iterator[TestClient]:
    dispatcher.reports[JOB] = reports.job(JobStatus.FINISHED, end=START + SECONDS * 1000 - 1)
    with TestClient(rest_app(RestContext(dispatcher, time_lines=lines), ROUTES)) as client:
        yield client


def asked(client: TestClient, query: str = "") -> dict[str, Any]:
    response = client.get(f"/jobs/{JOB}/timelines{query}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_the_whole_run_is_there_without_a_window(client: TestClient) -> None:
    body = asked(client)

    assert (body["begin"], body["end"]) == (START, START + SECONDS * 1000 - 1)
    assert body["times"][0] <= START
    assert body["times"][-1] + body["resolution"] >= START + SECONDS * 1000
    assert len(body["times"]) <= 301
    assert all(len(values) == len(body["times"]) for values in body["series"].values())
    assert set(body["series"]["busy"]) == {0.25}
    assert set(body["series"]["state-size"]) == {None}


def test_a_window_of_an_ended_job_counts_from_its_end(client: TestClient) -> None:
    body = asked(client, "?window=60")

    assert body["resolution"] == 1000
    assert body["times"] == [START + second * 1000 for second in range(SECONDS - 60, SECONDS)]


def test_fewer_points_stand_for_more_time(client: TestClient) -> None:
    body = asked(client, "?window=600&points=20")

    assert body["resolution"] == 30_000
    assert len(body["times"]) <= 21


def test_a_vertex_has_its_own_series(client: TestClient) -> None:
    body = asked(client, f"?window=60&vertex={SINK}")

    assert sorted(body["series"]) == [
        "backpressured",
        "busy",
        "idle",
        "records-in-per-second",
        "records-out-per-second",
        "watermark-lag",
    ]
    assert len(body["times"]) == 60


def test_of_a_job_without_samples_the_series_are_empty(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    other = "d" * 32
    dispatcher.reports[other] = reports.job(id=other)
    body = client.get(f"/jobs/{other}/timelines").json()

    assert body["times"] == []
    assert set(map(tuple, body["series"].values())) == {()}


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("window=0", 400, "'window'"),
        ("window=long", 400, "$.window"),
        ("points=0", 400, "points"),
        ("points=100000", 400, "points"),
        ("vertex=nonsense", 400, "vertex"),
        (f"vertex={'e' * 32}", 400, f"vertex is '{'e' * 32}'; expected the id of a vertex"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    client: TestClient, query: str, status: int, words: str
) -> None:
    response = client.get(f"/jobs/{JOB}/timelines?{query}")

    assert response.status_code == status
    assert words.strip("'") in response.json()["errors"][0]


def test_of_a_job_that_there_is_not_there_are_none(client: TestClient) -> None:
    assert client.get(f"/jobs/{'0' * 32}/timelines").status_code == 404
