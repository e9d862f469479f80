from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from riverrun.core.lifecycle import JobStatus
from riverrun.rest.app import rest_app
from riverrun.rest.context import PageSettings, RestContext
from riverrun.rest.routes import ROUTES
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher, check_against_contract
from tests.unit.rest.reports import JOB, SINK, SOURCE


@pytest.mark.parametrize(
    "path",
    ["/jobs", "/jobs/overview", "/jobs/{jobid}", "/jobs/{jobid}/status", "/jobs/{jobid}/plan"],
)
@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_answers_about_jobs_are_those_of_the_contract(
    client: TestClient, path: str, prefix: str
) -> None:
    response = client.get(prefix + path.format(jobid=JOB))

    assert response.status_code == 200
    check_against_contract("GET", path, 200, response.content)


def test_a_job_shows_its_vertices_and_how_they_are_connected(client: TestClient) -> None:
    body = client.get(f"/jobs/{JOB}").json()

    assert [vertex["name"] for vertex in body["vertices"]] == ["Source: orders", "Sink: totals"]
    assert body["vertices"][0]["tasks"]["RUNNING"] == 2
    assert body["vertices"][0]["metrics"]["write-records"] == 40
    assert body["status-counts"]["RUNNING"] == 2
    assert body["plan"]["nodes"][1]["inputs"] == [
        {"num": 0, "id": SOURCE, "ship_strategy": "HASH", "exchange": "pipelined_bounded"}
    ]
    assert body["plan"]["nodes"][1]["id"] == SINK
    assert body["duration"] == 1000


def test_a_finished_job_has_an_end(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    dispatcher.reports[JOB] = reports.job(JobStatus.FINISHED, end=reports.START + 400)

    body = client.get("/jobs/overview").json()["jobs"][0]

    assert (body["state"], body["end-time"] - body["start-time"]) == ("FINISHED", 400)
    assert body["duration"] == 400


def test_cancel_is_accepted_and_passed_on(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    response = client.patch(f"/v1/jobs/{JOB}?mode=cancel")

    assert response.status_code == 202
    assert dispatcher.asked == [("cancel", JOB)]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"/jobs/{'0' * 32}", 404, "there is none"),
        ("/jobs/nonsense", 400, "'jobid'"),
        (f"/jobs/{JOB.upper()}", 400, "'jobid'"),
        ("/nothing/here", 404, "not found"),
    ],
)
def test_what_is_not_there_is_refused_in_words(
    client: TestClient, path: str, status: int, words: str
) -> None:
    response = client.get(path)

    assert response.status_code == status
    assert words in response.json()["errors"][0]


def test_a_wrong_mode_of_termination_changes_nothing(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    assert client.patch(f"/jobs/{JOB}?mode=stop").status_code == 400
    assert client.patch(f"/jobs/{JOB}?mode=explode").status_code == 400
    assert dispatcher.asked == []


def test_an_answer_is_kept_with_its_report_and_no_longer(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    path = f"/jobs/{reports.JOB}"
    assert client.get(path).content == client.get(path).content

    dispatcher.reports[reports.JOB] = reports.job(JobStatus.FAILING)

    assert client.get(path).json()["state"] == "FAILING"
    assert client.get(f"{path}/vertices/{reports.SOURCE}").json()["id"] == reports.SOURCE
    assert client.get(f"{path}/vertices/{reports.SINK}").json()["id"] == reports.SINK


def test_the_list_tells_how_jobs_do(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    dispatcher.reports[JOB] = reports.job(failures=(reports.failure(),))

    body = client.get("/jobs/overview").json()["jobs"][0]

    assert body["failure"] == "ValueError: boom"
    assert (body["restarts"], body["records-per-second"], body["last-checkpoint"]) == (
        0,
        None,
        None,
    )


def test_the_page_is_told_whether_programs_are_taken(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    assert client.get("/config").json()["features"]["web-submit"] is True

    with TestClient(rest_app(RestContext(dispatcher), ROUTES)) as alone:
        assert alone.get("/config").json()["features"]["web-submit"] is False


def test_what_the_page_may_do_and_how_often_it_asks_are_settings(
    dispatcher: RecordedDispatcher,
) -> None:
    settings = PageSettings.of(
        {
            "web.cancel.enable": "false",
            "web.rescale.enable": "false",
            "web.refresh-interval": "5 s",
        }
    )
    with TestClient(rest_app(RestContext(dispatcher, page=settings), ROUTES)) as strict:
        answer = strict.get("/config").json()

    assert answer["refresh-interval"] == 5000
    assert (answer["features"]["web-cancel"], answer["features"]["web-rescale"]) == (False, False)
