"""Operations that are begun by one request and asked about by others."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from starlette.testclient import TestClient

from riverrun.cluster.resources.requirements import Bounds
from riverrun.core.errors import CheckpointFailed
from riverrun.rest.operations import Operations
from riverrun.rest.problems import HttpProblem
from tests.unit.rest.conftest import RecordedDispatcher, check_against_contract
from tests.unit.rest.reports import JOB, SOURCE

TRIGGER = "1" * 32


@pytest.mark.parametrize(
    ("path", "poll", "body", "asked"),
    [
        (
            "/jobs/{jobid}/savepoints",
            "/jobs/{jobid}/savepoints/{triggerid}",
            {"target-directory": "/s", "cancel-job": False, "formatType": "CANONICAL"},
            ("savepoint", JOB, "/s"),
        ),
        (
            "/jobs/{jobid}/stop",
            "/jobs/{jobid}/savepoints/{triggerid}",
            {"targetDirectory": "/s", "drain": True},
            ("stop", JOB, "/s", True),
        ),
        (
            "/jobs/{jobid}/checkpoints",
            "/jobs/{jobid}/checkpoints/{triggerid}",
            {"checkpointType": "CONFIGURED"},
            ("checkpoint", JOB),
        ),
    ],
)
def test_an_operation_is_begun_then_asked_about(
    client: TestClient,
    dispatcher: RecordedDispatcher,
    path: str,
    poll: str,
    body: dict[str, Any],
    asked: tuple[Any, ...],
) -> None:
    begun = client.post(f"/v1{path.format(jobid=JOB)}", json=body)
    check_against_contract("POST", path, begun.status_code, begun.content)
    asking = poll.format(jobid=JOB, triggerid=begun.json()["request-id"])

    before = client.get(asking)
    dispatcher.outcome.set_result("/s/chk-7")
    after = client.get(asking)

    assert dispatcher.asked == [asked]
    assert before.json() == {"status": {"id": "IN_PROGRESS"}}
    assert after.json()["status"] == {"id": "COMPLETED"}
    assert after.json()["operation"]["location"] == "/s/chk-7"
    check_against_contract("GET", poll, after.status_code, after.content)


def test_a_failed_savepoint_says_why(client: TestClient, dispatcher: RecordedDispatcher) -> None:
    trigger = client.post(f"/jobs/{JOB}/savepoints", json={}).json()["request-id"]
    dispatcher.outcome.set_exception(CheckpointFailed("no room on the disk"))

    body = client.get(f"/jobs/{JOB}/savepoints/{trigger}").json()

    cause = body["operation"]["failure-cause"]
    assert (cause["class"], cause["stack-trace"]) == ("CheckpointFailed", "no room on the disk")


def test_a_repeated_request_joins_the_first(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    for _ in range(3):
        response = client.post(f"/jobs/{JOB}/savepoints", json={"triggerId": TRIGGER})
        assert response.json() == {"request-id": TRIGGER}

    assert len(dispatcher.asked) == 1


def test_disposal_and_rescaling_go_the_same_way(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    disposal = client.post("/savepoint-disposal", json={"savepoint-path": "/s/1"})
    rescale = client.patch(f"/jobs/{JOB}/rescaling?parallelism=3")
    dispatcher.outcome.set_result(None)
    first = client.get(f"/savepoint-disposal/{disposal.json()['request-id']}")
    second = client.get(f"/jobs/{JOB}/rescaling/{rescale.json()['request-id']}")

    assert dispatcher.asked == [("dispose", "/s/1"), ("rescale", JOB, 3)]
    check_against_contract("POST", "/savepoint-disposal", 200, disposal.content)
    check_against_contract("GET", "/savepoint-disposal/{triggerid}", 200, first.content)
    check_against_contract("GET", "/jobs/{jobid}/rescaling/{triggerid}", 200, second.content)
    assert first.json()["operation"] == second.json()["operation"] == {}


def test_requirements_are_set_for_each_vertex(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    wish = {SOURCE: {"parallelism": {"lowerBound": 1, "upperBound": 4}}}

    response = client.put(f"/jobs/{JOB}/resource-requirements", json=wish)

    assert response.status_code == 200
    assert dispatcher.asked == [("require", JOB, {SOURCE: Bounds(1, 4)})]
    assert client.get(f"/jobs/{JOB}/resource-requirements").json()[SOURCE]["parallelism"] == {
        "lowerBound": 1,
        "upperBound": 2,
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"/jobs/{JOB}/savepoints", b"{", 400),
        ("POST", f"/jobs/{JOB}/savepoints", b'{"cancel-job": true}', 400),
        ("POST", f"/jobs/{JOB}/savepoints", b'{"triggerId": "../../etc"}', 400),
        ("POST", f"/jobs/{JOB}/savepoints", b'{"target-directory": 7}', 400),
        ("POST", f"/jobs/{JOB}/savepoints", b"\xff\xfe", 400),
        ("POST", f"/jobs/{JOB}/checkpoints", b'{"checkpointType": "FULL"}', 400),
        ("POST", f"/jobs/{'0' * 32}/savepoints", b"{}", 404),
        ("POST", f"/jobs/{JOB}/stop", b"[" * 100_000, 400),
        ("POST", f"/jobs/{JOB}/stop", b" " * 2_000_000, 413),
        ("POST", "/savepoint-disposal", b"{}", 400),
        ("PATCH", f"/jobs/{JOB}/rescaling", b"", 400),
        ("PATCH", f"/jobs/{JOB}/rescaling?parallelism=0", b"", 400),
        ("PATCH", f"/jobs/{JOB}/rescaling?parallelism=many", b"", 400),
        ("DELETE", f"/jobs/{JOB}/savepoints", b"", 405),
        ("GET", f"/jobs/{JOB}/savepoints/{TRIGGER}", b"", 404),
    ],
)
def test_a_bad_request_gets_the_right_status_and_changes_nothing(
    client: TestClient,
    dispatcher: RecordedDispatcher,
    method: str,
    path: str,
    body: bytes,
    status: int,
) -> None:
    response = client.request(method, path, content=body)

    assert response.status_code == status, response.text
    assert response.json()["errors"][0]
    assert dispatcher.asked == []


def test_outcomes_are_forgotten_after_a_while() -> None:
    now = [0.0]
    operations, outcome = Operations(lambda: now[0], kept_s=10.0), Future[str]()
    trigger = operations.begin("savepoint", lambda: outcome)
    now[0] = 100.0
    assert operations.outcome("savepoint", trigger) is outcome
    outcome.set_result("done")
    now[0] = 105.0
    assert operations.outcome("savepoint", trigger) is outcome
    now[0] = 120.0

    with pytest.raises(HttpProblem, match="not known"):
        operations.outcome("savepoint", trigger)


def test_an_operation_that_cannot_begin_leaves_no_trace() -> None:
    operations = Operations()

    def refuse() -> Future[str]:
        raise CheckpointFailed("the job has ended")

    for _ in range(2):
        with pytest.raises(CheckpointFailed):
            operations.begin("savepoint", refuse, TRIGGER)
