"""Every operation that only reads, against Flink's contract."""

from __future__ import annotations

import msgspec
import pytest
from starlette.testclient import TestClient

from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    CheckpointStatistics,
    CheckpointStatus,
    Counts,
    LatestCheckpoints,
    RestoredCheckpoint,
    SubtaskStatistics,
    TaskStatistics,
    Totals,
)
from riverrun.cluster.job_report import (
    AccumulatorReport,
    FailureReport,
    RescaleReport,
    SubtaskReport,
)
from riverrun.core.lifecycle import JobStatus
from riverrun.protocol.snapshots import SnapshotTimes
from riverrun.rest.resource_ids import resource_id
from riverrun.rest.routes import OFFERED
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher, check_against_contract, contract
from tests.unit.rest.reports import JOB, SINK, SOURCE, START

TIMES = SnapshotTimes(sync_ms=1.5, async_ms=7.0, state_bytes=100, full_bytes=300, unaligned=True)
RESCALE = RescaleReport(
    id="r1", began=START, ended=START + 9, before={SOURCE: 2}, after={SOURCE: 3}
)


def checkpoint(number: int, status: CheckpointStatus) -> CheckpointStatistics:
    done = (SubtaskStatistics(0, START + 12, 12, TIMES),)
    return CheckpointStatistics(
        id=number,
        status=status,
        trigger_timestamp=START,
        tasks={SOURCE: TaskStatistics(SOURCE, 2, done), SINK: TaskStatistics(SINK, 1, done)},
        totals=Totals.of(done),
        unaligned=True,
        external_path="/c/chk-3" if status is CheckpointStatus.COMPLETED else None,
        failure_timestamp=START if status is CheckpointStatus.FAILED else None,
        failure_message="declined" if status is CheckpointStatus.FAILED else None,
    )


COMPLETED = checkpoint(3, CheckpointStatus.COMPLETED)
FAILED = checkpoint(4, CheckpointStatus.FAILED)
RUNNING = checkpoint(5, CheckpointStatus.IN_PROGRESS)


@pytest.fixture(autouse=True)
def full_report(dispatcher: RecordedDispatcher) -> None:
    statistics = CheckpointingStatistics(
        counts=Counts(total=3, in_progress=1, completed=1, failed=1, restored=1),
        latest=LatestCheckpoints(
            COMPLETED, None, FAILED, RestoredCheckpoint(1, START, "/c/chk-1", is_savepoint=False)
        ),
        history=(RUNNING, FAILED, COMPLETED),
    )
    accumulators = {"seen": AccumulatorReport(type_name="int", value="7")}
    report = reports.job(
        config={"parallelism.default": "2", "execution.checkpointing.interval": "1 s"},
        checkpoints=statistics,
        checkpoint_folder="/c",
        failures=(reports.failure(operator="Map", task="Map", subtask=1, record="7"),),
        accumulators=accumulators,
        rescales=(RESCALE,),
    )
    dispatcher.reports[JOB] = report


# A task answers these, or there are log files: test_diagnosis has them.
ELSEWHERE = {
    "/jobmanager/logs",
    "/taskmanagers/{taskmanagerid}/logs",
    "/taskmanagers/{taskmanagerid}/thread-dump",
}
READS = [
    route.path
    for route in OFFERED
    if route.method == "GET"
    and "{triggerid}" not in route.path
    and route.path in contract()["paths"]
    and route.path not in ELSEWHERE
]


def filled(path: str) -> str:
    names = {
        "jobid": JOB,
        "vertexid": SOURCE,
        "subtaskindex": "1",
        "attempt": "0",
        "checkpointid": "3",
        "rescaleuuid": "r1",
        "taskmanagerid": "0",
    }
    return path.format(**names)


@pytest.mark.parametrize("path", READS)
def test_what_is_read_is_what_flinks_contract_says(client: TestClient, path: str) -> None:
    response = client.get(filled(path))

    assert response.status_code == 200, response.text
    check_against_contract("GET", path, 200, response.content)


@pytest.mark.parametrize(("number", "kind"), [(3, "completed"), (4, "failed"), (5, "in_progress")])
def test_a_checkpoint_says_what_became_of_it(client: TestClient, number: int, kind: str) -> None:
    body = client.get(f"/jobs/{JOB}/checkpoints/details/{number}").json()

    assert (body["className"], body["checkpoint_type"]) == (kind, "UNALIGNED_CHECKPOINT")
    assert set(body["tasks"]) == {SOURCE, SINK}


def test_a_subtask_that_has_not_acknowledged_is_pending(client: TestClient) -> None:
    body = client.get(f"/jobs/{JOB}/checkpoints/details/5/subtasks/{SOURCE}").json()

    assert [each["status"] for each in body["subtasks"]] == ["completed", "pending"]
    assert body["subtasks"][0]["checkpoint"] == {"sync": 1, "async": 7}


def test_exceptions_name_the_operator_and_the_record(client: TestClient) -> None:
    history = client.get(f"/jobs/{JOB}/exceptions").json()["exceptionHistory"]

    assert history["truncated"] is False
    assert history["entries"][0]["taskName"] == "Map (1)"
    assert history["entries"][0]["failureLabels"]["record"] == "7"
    assert client.get(f"/jobs/{JOB}/exceptions?maxExceptions=0").json()["exceptionHistory"][
        "truncated"
    ]


def test_what_failed_at_the_same_time_is_told_with_the_place_of_that_attempt(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    def tried(index: int, failure: FailureReport | None) -> SubtaskReport:
        past = reports.attempt("FAILED", failure=failure)
        return reports.subtask(index, past=(past,), current=reports.attempt(number=1))

    cause = reports.failure("first", operator="Map", task="Source: orders", subtask=0)
    other = reports.failure("second", operator="Map", task="Source: orders", subtask=1)
    follower = reports.failure("input stopped", task="Sink: totals", subtask=0)
    source, sink = reports.job().vertices
    dispatcher.reports[JOB] = reports.job(
        failures=(cause,),
        vertices=(
            msgspec.structs.replace(source, subtasks=(tried(0, cause), tried(1, other))),
            msgspec.structs.replace(sink, subtasks=(tried(0, follower),)),
        ),
    )

    (entry,) = client.get(f"/jobs/{JOB}/exceptions").json()["exceptionHistory"]["entries"]

    (found,) = entry["concurrentExceptions"]
    assert (found["message"], found["taskName"]) == ("second", "Source: orders (1)")
    assert (found["endpoint"], found["taskManagerId"]) == ("worker-1", resource_id("0"))


def test_the_failure_that_ended_the_job_says_why_it_was_not_started_again(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    early = reports.failure("boom", task="Map", subtask=1)
    last = reports.failure("boom", task="Map", subtask=1, attempt=2)
    dispatcher.reports[JOB] = reports.job(
        JobStatus.FAILED,
        failures=(early, last),
        failure=msgspec.structs.replace(last, hint="not started again: 2 attempts are allowed"),
    )

    entries = client.get(f"/jobs/{JOB}/exceptions").json()["exceptionHistory"]["entries"]

    hints = [each["failureLabels"].get("hint") for each in entries]
    assert hints == ["not started again: 2 attempts are allowed", None]


def test_metrics_are_listed_picked_and_summed_up(client: TestClient) -> None:
    base = f"/jobs/{JOB}/vertices/{SOURCE}"
    names = client.get(f"{base}/subtasks/0/metrics").json()["metrics"]
    one = client.get(f"{base}/metrics?get=1.numRecordsOut,absent").json()["metrics"]
    each = client.get(f"{base}/metrics?get=*.numRecordsOut,*.absent\\,too").json()["metrics"]
    total = client.get(f"{base}/subtasks/metrics?get=numRecordsOut&agg=sum,skew").json()
    some = client.get(f"{base}/subtasks/metrics?get=numRecordsOut&agg=sum&subtasks=1-9").json()

    assert {"id": "numRecordsOut"} in names
    assert one == [{"id": "1.numRecordsOut", "value": "20"}]
    assert [metric["id"] for metric in each] == ["0.numRecordsOut", "1.numRecordsOut"]
    assert total["metrics"] == [{"id": "numRecordsOut", "sum": 40.0, "skew": 0.0}]
    assert some["metrics"][0]["sum"] == 20.0


def test_back_pressure_is_told_in_shares_of_the_time(client: TestClient) -> None:
    body = client.get(f"/jobs/{JOB}/vertices/{SOURCE}/backpressure").json()

    assert body["backpressureLevel"] == "ok"
    assert body["subtasks"][0]["busyRatio"] == 0.25


@pytest.mark.parametrize(
    "path",
    [
        f"/jobs/{JOB}/vertices/{'0' * 32}",
        f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/7",
        f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/0/attempts/9",
        f"/jobs/{JOB}/checkpoints/details/99",
        f"/jobs/{JOB}/checkpoints/details/3/subtasks/{'0' * 32}",
        f"/jobs/{JOB}/rescales/details/none",
    ],
)
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 404
    assert len(response.json()["errors"][0]) > 20


@pytest.mark.parametrize(
    "query", ["agg=median&get=x", "subtasks=one", "subtasks=1-", "agg=sum,,&get=x&subtasks=-3"]
)
def test_nonsense_in_a_query_is_400(client: TestClient, query: str) -> None:
    path = f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/metrics?{query}"

    assert client.get(path).status_code == 400


def test_a_job_without_checkpoints_says_so(
    client: TestClient, dispatcher: RecordedDispatcher
) -> None:
    dispatcher.reports[JOB] = reports.job()

    response = client.get(f"/jobs/{JOB}/checkpoints")

    assert response.status_code == 404
    assert "execution.checkpointing.interval" in response.json()["errors"][0]
