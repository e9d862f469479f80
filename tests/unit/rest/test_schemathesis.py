"""Requests made up from the interface's own description: all are answered as it says, none with a 500."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.checks import allow_header_conformance
from starlette.testclient import TestClient

from riverrun.cluster.inquiries import TaskGone
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.errors import ProgramError
from riverrun.core.ids import JobId
from riverrun.jobmanager.programs import UploadedPrograms
from riverrun.rest.app import rest_app
from riverrun.rest.context import ProgramOrder, RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.routing import Route
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.reports import JOB, SOURCE
from tests.unit.rest.snapshots_here import SnapshotsHere

KNOWN = {
    "jobid": JOB,
    "vertexid": SOURCE,
    "subtaskindex": 0,
    "attempt": 0,
    "taskmanagerid": "0",
    "checkpointid": 1,
}
CHECKS: list[Any] = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    allow_header_conformance,
]


class OneJob:
    """Takes every job that can be read, and has values of one."""

    def __init__(self, folder: Path) -> None:
        self.artifacts = ArtifactStore(folder, 100_000)
        self._values = ClientValues(1000, 1000.0, lambda *_: None)
        self._values.put("operator", 0, b"payload")
        self._values.end()

    def submit(self, request: SubmitRequest) -> JobId:
        return JobId(request.job)

    def values(self, job: JobId) -> ClientValues:
        RecordedDispatcher().job(job)
        return self._values


class NeverRun(UploadedPrograms):
    """Keeps programs and starts none."""

    def run(self, program: str, wish: ProgramOrder) -> JobId:
        self._path(program)
        return JobId(wish.job) if wish.job else JobId.random()

    def plan(self, program: str, wish: ProgramOrder) -> list[dict[str, Any]]:
        del wish
        self._path(program)
        raise ProgramError("no program is run here")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("rest")
    dispatcher = RecordedDispatcher()
    dispatcher.answer.set_exception(TaskGone("no task answers here"))
    context = RestContext(
        dispatcher,
        submissions=OneJob(folder / "artifacts"),
        programs=NeverRun(folder / "programs"),
        upload_limit=100_000,
        shut_down=lambda: None,
        snapshots=SnapshotsHere(),
    )
    return rest_app(context, ROUTES)


@pytest.fixture(scope="module")
def client(app: Any) -> TestClient:
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def described(app: Any) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def test_the_description_is_valid_openapi(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    assert document["info"]["version"] == "0.1"
    assert client.get("/v1/openapi.json").json() == document


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_requests_are_answered_as_described(route: Route, described: Any) -> None:
    explore(route, described, examples=3)


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_many_requests_are_answered_as_described(route: Route, described: Any) -> None:
    explore(route, described, examples=100)


def explore(route: Route, described: Any, examples: int) -> None:
    """Call the operation with what fits its description, and with what does not."""
    operation = described[route.path][route.method]
    wrong = operation.as_strategy(GenerationMode.NEGATIVE)
    fits = operation.as_strategy(GenerationMode.POSITIVE)
    profile = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )

    @profile
    @given(case=fits, known=st.booleans())
    def as_described(case: Case[Any], known: bool) -> None:
        if known:
            names = {name: KNOWN[name] for name in case.path_parameters if name in KNOWN}
            case.path_parameters.update(names)
        check(case)

    @profile
    @given(case=wrong)
    def otherwise(case: Case[Any]) -> None:
        check(case)

    as_described()
    with suppress(Unsatisfiable):  # where any text will do
        otherwise()


def check(case: Case[Any]) -> None:
    response = case.call()
    case.validate_response(response, checks=CHECKS)
    assert response.status_code != 500
    if response.status_code >= 400:
        assert json.loads(response.content)["errors"]
