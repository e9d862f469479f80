"""Logs, threads, flame graphs, the page of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from riverrun.cluster.inquiries import TaskGone, TaskRefused
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.core.clock import ManualClock
from riverrun.core.lifecycle import JobStatus
from riverrun.core.log_folder import LogFile, LogPiece
from riverrun.core.thread_dump import ThreadStack
from riverrun.protocol.inquiries import LogList, ReadLog, Sample, StackCounts, Threads
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.flame_graphs import FlameGraphs, FlameSettings
from riverrun.rest.resource_ids import resource_id
from riverrun.rest.routes import ROUTES
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher, check_against_contract

_VERTEX = f"/jobs/{reports.JOB}/vertices/{reports.SOURCE}"
_STACKS = StackCounts({"main.run:1\nuser.slow:7": 30, "main.run:1": 10}, {"main.wait:3": 60})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "secret.log").write_text("not to be seen")
    (logs / "jobmanager.log").write_text("0123456789")
    (logs / f"job-{reports.JOB}.log").write_text("of the job")
    (logs / "taskmanager-driver.log").write_text("of the workers")
    (logs / "taskmanager-driver.out").write_text("printed")
    (logs / "jobmanager-link.log").symlink_to(tmp_path / "secret.log")
    return logs


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client(
    dispatcher: RecordedDispatcher, folder: Path, clock: ManualClock
) -> Iterator[TestClient]:
    context = RestContext(
        dispatcher,
        log_folder=folder,
        flame_graphs=FlameGraphs(clock=clock),
        address=lambda: "http://here:8081",
    )
    app = rest_app(context, ROUTES)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def local(dispatcher: RecordedDispatcher) -> str:
    dispatcher.managers = [TaskManager("driver", "here", 1, cores=2, slots=4)]
    return f"/taskmanagers/{resource_id('driver')}"


def test_prometheus_reads_the_running_jobs(client: TestClient) -> None:
    text = client.get("/metrics").text

    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = families["flink_taskmanager_job_task_numRecordsIn"].samples
    assert sum(sample.value for sample in samples) == 30
    assert samples[0].labels["job_name"] == "orders"
    assert samples[0].labels["task_id"] == reports.SOURCE
    assert families["flink_jobmanager_numRunningJobs"].samples[0].value == 1
    assert "flink_jobmanager_job_uptime" in families
    assert families["flink_taskmanager_taskSlotsTotal"].samples[0].labels["tm_id"] == "0"


def test_jobs_that_ended_have_no_metrics_any_more(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.reports[reports.JOB] = reports.job(JobStatus.FINISHED)

    assert "flink_jobmanager_job_uptime" not in client.get("/metrics").text


@pytest.mark.parametrize(
    "path",
    [
        "/jobmanager/logs",
        "/jobmanager/metrics",
        "/jobmanager/thread-dump",
        "/jobmanager/environment",
        "/jobs/{jobid}/jobmanager/config",
        "/jobs/{jobid}/jobmanager/environment",
        "/jobs/{jobid}/jobmanager/log-url",
        "/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url",
        "/jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics",
        "/jobs/{jobid}/vertices/{vertexid}/flamegraph",
    ],
)
def test_answers_are_those_of_the_contract(client: TestClient, path: str) -> None:
    names = {"jobid": reports.JOB, "vertexid": reports.SOURCE, "taskmanagerid": resource_id("0")}
    response = client.get(path.format(**names))

    check_against_contract("GET", path, response.status_code, response.content)


def test_log_files_are_listed_and_read(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    listed = client.get("/jobmanager/logs").json()["logs"]

    assert [file["name"] for file in listed] == [f"job-{reports.JOB}.log", "jobmanager.log"]
    assert client.get(f"/jobmanager/logs/job-{reports.JOB}.log").text == "of the job"
    assert client.get("/jobmanager/log").text == "0123456789"
    assert client.get("/jobmanager/stdout").status_code == 404
    assert client.get(f"{local(dispatcher)}/log").text == "of the workers"
    assert client.get(f"{local(dispatcher)}/stdout").text == "printed"


def test_parts_of_a_log_are_read_by_offset_or_from_the_end(client: TestClient) -> None:
    last = client.get("/jobmanager/log", params={"tail": 3})
    rest = client.get("/jobmanager/log", params={"offset": 8})

    assert (last.text, last.headers["X-Log-Start"]) == ("789", "7")
    assert (rest.text, rest.headers["X-Log-End"], rest.headers["X-Log-Size"]) == ("89", "10", "10")
    assert client.get("/jobmanager/log", params={"offset": 99}).text == ""
    assert client.get("/jobmanager/log", params={"tail": -1}).status_code == 400


def test_a_part_of_a_log_is_no_longer_than_wanted(client: TestClient) -> None:
    some = client.get("/jobmanager/log", params={"offset": 2, "limit": 3})

    assert some.text == "234"
    assert (some.headers["X-Log-Start"], some.headers["X-Log-End"]) == ("2", "5")
    assert some.headers["X-Log-Size"] == "10"
    assert client.get("/jobmanager/log", params={"tail": 4, "limit": 1}).text == "6"
    assert client.get("/jobmanager/log", params={"limit": 0}).status_code == 400


@pytest.mark.parametrize(
    "name",
    [
        "..%2Fsecret.log",
        "%2e%2e/secret.log",
        "jobmanager-link.log",
        "taskmanager-driver.log",
        "jobmanager.log%00",
        "%2Fetc%2Fpasswd",
        ".log",
        "jobmanager",
        "jobmanager.log.bak",
    ],
)
def test_no_other_file_can_be_read(client: TestClient, name: str) -> None:
    response = client.get(f"/jobmanager/logs/{name}")

    assert response.status_code == 404
    assert "not to be seen" not in response.text


def test_without_a_folder_the_answer_says_how_to_get_logs(dispatcher: RecordedDispatcher) -> None:
    with TestClient(rest_app(RestContext(dispatcher), ROUTES)) as client:
        response = client.get("/jobmanager/logs")

    assert response.status_code == 404
    assert "env.log.dir" in response.json()["errors"][0]


def test_logs_of_other_machines_are_fetched_from_a_task_there(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    manager = f"/taskmanagers/{resource_id('0')}"
    dispatcher.answer.set_result(LogPiece(b"far away", 0, 8))

    assert client.get(f"{manager}/logs/taskmanager-0.log").text == "far away"
    what, job, _, question = dispatcher.asked[0]
    assert (what, job) == ("task", reports.JOB)
    assert isinstance(question, ReadLog)
    assert question.name == "taskmanager-0.log"


def test_the_files_of_other_machines_are_those_that_a_task_names(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    path = "/taskmanagers/{taskmanagerid}/logs"
    dispatcher.answer.set_result(LogList([LogFile("taskmanager-0.log", 8, 1)]))

    response = client.get(path.format(taskmanagerid=resource_id("0")))

    check_against_contract("GET", path, response.status_code, response.content)
    assert response.json() == {"logs": [{"name": "taskmanager-0.log", "size": 8, "mtime": 1}]}


def test_a_file_that_a_task_does_not_have_is_not_found(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.answer.set_exception(TaskRefused("log file 'x.log': is not there"))

    response = client.get(f"/taskmanagers/{resource_id('0')}/logs/x.log")

    assert response.status_code == 404
    assert "x.log" in response.json()["errors"][0]


def test_a_task_manager_without_tasks_cannot_be_asked(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.answer.set_exception(TaskGone("gone"))

    assert client.get(f"/taskmanagers/{resource_id('0')}/logs").status_code == 404
    dispatcher.reports[reports.JOB] = reports.job(JobStatus.FINISHED)
    answer = client.get(f"/taskmanagers/{resource_id('0')}/thread-dump")
    assert answer.status_code == 404
    assert "no task runs on it" in answer.json()["errors"][0]


def test_thread_dumps_of_a_task_manager_come_from_its_tasks(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    path = "/taskmanagers/{taskmanagerid}/thread-dump"
    dispatcher.answer.set_result(Threads([ThreadStack("map (1/2)#0", "\tat slow (user.py:7)")]))

    response = client.get(path.format(taskmanagerid=resource_id("0")))

    check_against_contract("GET", path, response.status_code, response.content)
    # All subtasks of the report are in one process, which is asked once.
    assert [each["threadName"] for each in response.json()["threadInfos"]] == ["map (1/2)#0"]


def test_the_job_manager_shows_its_threads(client: TestClient) -> None:
    threads = client.get("/jobmanager/thread-dump").json()["threadInfos"]

    assert any("thread_stacks" in each["stringifiedThreadInfo"] for each in threads)


def test_flame_graphs_are_made_on_request_and_kept_for_a_while(
    client: TestClient, dispatcher: RecordedDispatcher, clock: ManualClock
) -> None:
    assert client.get(f"{_VERTEX}/flamegraph").json() == {"endTimestamp": -3}
    assert [asked[3] for asked in dispatcher.asked] == [Sample(200, 10, 100)] * 2
    dispatcher.answer.set_result(_STACKS)

    graph = client.get(f"{_VERTEX}/flamegraph").json()
    on_cpu = client.get(f"{_VERTEX}/flamegraph", params={"type": "ON_CPU"}).json()["data"]
    off_cpu = client.get(f"{_VERTEX}/flamegraph", params={"type": "OFF_CPU"}).json()["data"]

    assert graph["data"]["value"] == 200
    assert [child["name"] for child in graph["data"]["children"]] == ["main.run:1", "main.wait:3"]
    assert on_cpu["children"][0]["children"] == [
        {"name": "user.slow:7", "value": 60, "children": []}
    ]
    assert off_cpu["value"] == 120
    assert len(dispatcher.asked) == 2
    clock.advance(60_000)
    assert client.get(f"{_VERTEX}/flamegraph").json() == graph
    assert len(dispatcher.asked) == 4


def test_a_flame_graph_that_was_made_before_the_wanted_time_is_made_again(
    client: TestClient, dispatcher: RecordedDispatcher, clock: ManualClock
) -> None:
    client.get(f"{_VERTEX}/flamegraph")
    dispatcher.answer.set_result(_STACKS)
    made = client.get(f"{_VERTEX}/flamegraph").json()["endTimestamp"]
    clock.advance(1000)
    dispatcher.answer = Future()
    later = {"since": made + 500}

    assert client.get(f"{_VERTEX}/flamegraph", params=later).json() == {"endTimestamp": -3}
    assert client.get(f"{_VERTEX}/flamegraph").json()["endTimestamp"] == made
    assert len(dispatcher.asked) == 4
    dispatcher.answer.set_result(_STACKS)
    again = client.get(f"{_VERTEX}/flamegraph", params=later).json()
    assert again["endTimestamp"] == made + 1000
    assert len(dispatcher.asked) == 4


def test_a_flame_graph_of_one_subtask_asks_only_that(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    client.get(f"{_VERTEX}/flamegraph", params={"subtaskindex": 1})

    assert [asked[2].index for asked in dispatcher.asked] == [1]
    assert client.get(f"{_VERTEX}/flamegraph", params={"subtaskindex": 9}).status_code == 404
    assert client.get(f"{_VERTEX}/flamegraph", params={"type": "HALF"}).status_code == 400


def test_what_does_not_run_has_no_flame_graph(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.answer.set_exception(TaskGone("gone"))
    client.get(f"{_VERTEX}/flamegraph")
    (vertex, *_) = reports.job().vertices
    ended = reports.changed(vertex, subtasks=(reports.subtask(0, "FINISHED"),))  # type: ignore[arg-type]
    dispatcher.reports[reports.JOB] = reports.job(vertices=(ended,))

    assert client.get(f"{_VERTEX}/flamegraph").json() == {"endTimestamp": -1}


def test_flame_graphs_can_be_turned_off(dispatcher: RecordedDispatcher) -> None:
    off = FlameSettings.of({"rest.flamegraph.enabled": "false"})
    context = RestContext(dispatcher, flame_graphs=FlameGraphs(off))
    with TestClient(rest_app(context, ROUTES)) as client:
        assert client.get(f"{_VERTEX}/flamegraph").json() == {"endTimestamp": -2}
    assert dispatcher.asked == []
