"""A JobManager of which only the interface is real."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverrun.client.job_manager import JobManagerClient
from riverrun.cluster.dispatcher.gateway import JobIsKnown, UnknownJob
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.ids import JobId
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer
from tests.unit.rest.conftest import RecordedDispatcher


class RecordedSubmissions:
    """Satisfies ``Submissions``; jobs do not run, their values are put in by the test."""

    def __init__(self, folder: Path) -> None:
        self.artifacts = ArtifactStore(folder, 1 << 20)
        self.requests: list[SubmitRequest] = []
        self._values: dict[JobId, ClientValues] = {}

    def submit(self, request: SubmitRequest) -> JobId:
        job = JobId(request.job)
        if job in self._values:
            raise JobIsKnown(f"job {str(job)!r}: is here already")
        self.requests.append(request)
        self._values[job] = ClientValues(1 << 20, 60_000.0, lambda *_: None)
        return job

    def values(self, job: JobId) -> ClientValues:
        if job not in self._values:
            raise UnknownJob(f"job {str(job)!r}: no values")
        return self._values[job]

    def put(self, job: JobId, operator: str, *values: object) -> None:
        self.values(job).put(operator, 0, pickle.dumps(list(values)))


@pytest.fixture
def dispatcher() -> RecordedDispatcher:
    return RecordedDispatcher()


@pytest.fixture
def submissions(tmp_path: Path) -> RecordedSubmissions:
    return RecordedSubmissions(tmp_path / "artifacts")


@pytest.fixture
def server(
    dispatcher: RecordedDispatcher, submissions: RecordedSubmissions
) -> Iterator[RestServer]:
    server = RestServer(rest_app(RestContext(dispatcher, submissions=submissions), ROUTES))
    server.start()
    yield server
    server.close()


@pytest.fixture
def client(server: RestServer) -> Iterator[JobManagerClient]:
    client = JobManagerClient.at(server.url, {})
    yield client
    client.connection.close()
