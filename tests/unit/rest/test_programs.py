"""Uploads: what is kept, what is refused, and that nothing else happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from riverrun.jobmanager.programs import UploadedPrograms
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from tests.unit.rest.conftest import RecordedDispatcher, check_against_contract

PROGRAM = b"""
import sys
from riverrun import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2, 3]).map(lambda x: x + int(sys.argv[1])).print()
env.execute("uploaded")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "programs"


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    context = RestContext(
        RecordedDispatcher(), programs=UploadedPrograms(folder), upload_limit=100_000
    )
    with TestClient(rest_app(context, ROUTES), raise_server_exceptions=False) as client:
        yield client


def upload(client: TestClient, name: str, data: bytes = PROGRAM) -> str:
    response = client.post("/v1/jars/upload", files={"jarfile": (name, data)})
    assert response.status_code == 200, response.text
    check_against_contract("POST", "/jars/upload", 200, response.content)
    return str(response.json()["filename"]).rpartition("/")[2]


def test_a_program_is_kept_listed_and_deleted(client: TestClient, folder: Path) -> None:
    program = upload(client, "orders.py")

    listed = client.get("/jars")
    check_against_contract("GET", "/jars", 200, listed.content)
    assert [(each["id"], each["name"]) for each in listed.json()["files"]] == [
        (program, "orders.py")
    ]

    assert client.delete(f"/jars/{program}").status_code == 200
    assert client.get("/jars").json()["files"] == []
    assert list(folder.iterdir()) == []


def test_a_plan_is_made_in_another_process(client: TestClient) -> None:
    program = upload(client, "orders.py")

    response = client.post(f"/jars/{program}/plan", json={"programArgsList": ["7"]})

    assert response.status_code == 200, response.text
    check_against_contract("POST", "/jars/{jarid}/plan", 200, response.content)
    source, sink = response.json()["plan"]["nodes"]
    assert source["description"] == "Source: Collection"
    assert sink["description"] == "Map -> Sink: Print to Std. Out"
    assert [each["name"] for each in sink["operators"]] == ["Map", "Sink: Print to Std. Out"]
    assert [each["id"] for each in sink["inputs"]] == [source["id"]]


def test_what_a_failing_program_says_is_in_the_answer(client: TestClient) -> None:
    program = upload(client, "broken.py", b"raise ValueError('no such topic')")

    response = client.post(f"/jars/{program}/plan", json={})

    assert response.status_code == 400
    assert "no such topic" in response.json()["errors"][0]


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "x.jar", "", ".py", "a\nb.py", "-x.py", "x" * 200 + ".py"]
)
def test_names_that_are_no_programs_are_refused(
    client: TestClient, folder: Path, name: str
) -> None:
    response = client.post("/jars/upload", files={"jarfile": (name, PROGRAM)})

    assert response.status_code == 400
    assert list(folder.iterdir()) == []


def test_a_path_in_a_name_is_left_out(client: TestClient, folder: Path) -> None:
    program = upload(client, "../../somewhere/orders.py")

    assert program.endswith("_orders.py")
    assert [path.name for path in folder.iterdir()] == [program]


def test_an_upload_that_is_too_large_is_refused(client: TestClient, folder: Path) -> None:
    response = client.post("/jars/upload", files={"jarfile": ("x.py", b"#" * 200_000)})

    assert response.status_code == 413
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "program", ["0" * 16 + "_x.py", "..%2F..%2Fetc%2Fpasswd", "nothing", "0" * 16 + "_..py"]
)
def test_programs_that_there_are_not_are_404(client: TestClient, program: str) -> None:
    for method, path in (
        ("DELETE", f"/jars/{program}"),
        ("POST", f"/jars/{program}/run"),
        ("POST", f"/jars/{program}/plan"),
    ):
        assert client.request(method, path).status_code == 404, path


def test_a_form_without_a_file_is_refused(client: TestClient) -> None:
    assert client.post("/jars/upload", files={"other": ("x.py", PROGRAM)}).status_code == 400
    assert client.post("/jars/upload", content=b"no form").status_code == 400


def test_a_jobmanager_that_takes_no_programs_says_so() -> None:
    app = rest_app(RestContext(RecordedDispatcher()), ROUTES)
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.get("/jars").status_code == 403
