"""The interface over a dispatcher that holds reports and notes what it is asked to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from starlette.testclient import TestClient

from riverrun.cluster.dispatcher.gateway import (
    ClusterFacts,
    UnknownJob,
)
from riverrun.cluster.dispatcher.summary import summary_of
from riverrun.cluster.job_report import JobReport, JobSummary
from riverrun.cluster.resources.requirements import Bounds
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.core.ids import JobId, SubtaskId
from riverrun.jobmanager.programs import UploadedPrograms
from riverrun.protocol.inquiries import Answer, Question
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from tests.unit.rest import reports

_CONTRACT = Path(__file__).with_name("flink-rest-v1.yml")


class RecordedDispatcher:
    """Satisfies ``Dispatcher`` with reports; every wish is kept in ``asked``."""

    def __init__(self) -> None:
        self.reports: dict[str, JobReport] = {reports.JOB: reports.job()}
        self.asked: list[tuple[Any, ...]] = []
        self.outcome: Future[Any] = Future()
        self.answer: Future[Answer] = Future()
        self.managers = [TaskManager("0", "worker-1", 7078, cores=2, slots=4, slots_used=3)]

    def facts(self) -> ClusterFacts:
        config = {"parallelism.default": "2", "s3.secret-key": "******"}
        return ClusterFacts(
            version="0.1", commit="abc", master="local[*]", config=config, started=reports.START
        )

    def task_managers(self) -> Sequence[TaskManager]:
        return self.managers

    def jobs(self) -> Sequence[JobSummary]:
        return [summary_of(report) for report in self.reports.values()]

    def job(self, job: JobId) -> JobReport:
        if str(job) not in self.reports:
            raise UnknownJob(f"job {str(job)!r}: there is none")
        return self.reports[str(job)]

    def cancel(self, job: JobId) -> None:
        self.job(job)
        self.asked.append(("cancel", str(job)))

    def trigger_checkpoint(self, job: JobId) -> Future[str]:
        return self._ask("checkpoint", job)

    def trigger_savepoint(self, job: JobId, target: str | None) -> Future[str]:
        return self._ask("savepoint", job, target)

    def stop_with_savepoint(self, job: JobId, target: str | None, *, drain: bool) -> Future[str]:
        return self._ask("stop", job, target, drain)

    def dispose_savepoint(self, location: str) -> Future[None]:
        self.asked.append(("dispose", location))
        return self.outcome

    def rescale(self, job: JobId, parallelism: int | Mapping[str, int]) -> Future[None]:
        return self._ask("rescale", job, parallelism)

    def requirements(self, job: JobId) -> Mapping[str, Bounds]:
        return {vertex.id: Bounds(1, vertex.parallelism) for vertex in self.job(job).vertices}

    def require(self, job: JobId, bounds: Mapping[str, Bounds]) -> None:
        self._ask("require", job, dict(bounds))

    def ask(self, job: JobId, task: SubtaskId, question: Question) -> Future[Answer]:
        self._ask("task", job, task, question)
        return self.answer

    def _ask(self, what: str, job: JobId, *facts: Any) -> Future[Any]:
        self.job(job)
        self.asked.append((what, str(job), *facts))
        return self.outcome


@pytest.fixture
def dispatcher() -> RecordedDispatcher:
    return RecordedDispatcher()


@pytest.fixture
def client(dispatcher: RecordedDispatcher, tmp_path: Path) -> Iterator[TestClient]:
    app = rest_app(RestContext(dispatcher, programs=UploadedPrograms(tmp_path)), ROUTES)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@cache
def contract() -> dict[str, Any]:
    """Flink's own description of the interface."""
    loaded: dict[str, Any] = _lenient(yaml.safe_load(_CONTRACT.read_text()))
    return loaded


def check_against_contract(method: str, path: str, status: int, body: bytes) -> None:
    """Fail unless the answer to an operation is one that Flink's contract has."""
    operation = contract()["paths"][path][method.lower()]
    assert str(status) in operation["responses"], f"{method} {path} answered {status}"
    content = operation["responses"][str(status)].get("content")
    if content is None:
        return
    schema = {**content["application/json"]["schema"], "components": contract()["components"]}
    jsonschema.validate(json.loads(body), schema)


def _lenient(part: Any) -> Any:
    """The alternatives of an asynchronous result have no required fields: one answer fits them all."""
    if isinstance(part, dict):
        return {
            ("anyOf" if key == "oneOf" else key): _lenient(value) for key, value in part.items()
        }
    return [_lenient(each) for each in part] if isinstance(part, list) else part
