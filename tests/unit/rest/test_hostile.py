"""Clients that do what they should not, on a real port: the right status, and nothing else happens."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.ids import JobId
from riverrun.core.log_folder import UnknownLogFile
from riverrun.jobmanager.programs import UploadedPrograms
from riverrun.rest.access import Access
from riverrun.rest.app import rest_app
from riverrun.rest.connections import BoundedHttp
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer, ServerSettings
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.reports import JOB, SOURCE

TOKEN = "s3cret"
PIECE = b"x" * (1 << 20)
MISSING = "0" * 31 + "1"
HOSTILE_NAMES = (
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..",
    "%00",
    "a%0d%0ab",
    "%ff%fe",
    "x" * 3000,
    "'; DROP TABLE jobs",
)


class Refusing:
    """Takes files, and fails the test when it is given a job."""

    def __init__(self, folder: Path) -> None:
        self.artifacts = ArtifactStore(folder, 1_000_000)

    def submit(self, request: SubmitRequest) -> JobId:
        raise AssertionError(request)

    def values(self, job: JobId) -> ClientValues:
        raise AssertionError(job)


class Victim:
    """A server, what it was asked to do, and the folder that it may write to."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.dispatcher = RecordedDispatcher()
        self.dispatcher.answer.set_exception(UnknownLogFile("there is none"))
        self.shut_downs: list[None] = []
        context = RestContext(
            self.dispatcher,
            submissions=Refusing(folder / "artifacts"),
            programs=UploadedPrograms(folder / "programs"),
            upload_limit=1_000_000,
            shut_down=lambda: self.shut_downs.append(None),
        )
        app = rest_app(context, ROUTES, patience_s=0.2)
        self.server = RestServer(app, ServerSettings(**settings))
        self.server.start()

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(*self.server.address, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def say(self, data: bytes) -> bytes:
        """Send bytes on a connection of their own; all that came back."""
        with socket.create_connection(self.server.address, timeout=30) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    @property
    def files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def assert_unmoved(self) -> None:
        # A task may be asked for a file of its log, and refuses names of others itself.
        assert [each for each in self.dispatcher.asked if each[0] != "task"] == []
        assert self.shut_downs == []
        assert self.files == []
        assert self.ask("GET", "/overview")[0] in (200, 401)


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    victim = Victim(tmp_path)
    yield victim
    victim.assert_unmoved()
    victim.server.close()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"drain": "perhaps"}',
        b'{"triggerId": "no id"}',
        b"[" * 200_000,
        b'{"targetDirectory": 7}',
    ],
)
def test_malformed_bodies_are_400(victim: Victim, body: bytes) -> None:
    status, answer = victim.ask("POST", f"/jobs/{JOB}/stop", body)

    assert status == 400
    assert answer["errors"][0].startswith("body of POST /jobs/{jobid}/stop: ")


def test_a_submission_that_is_none_is_400(victim: Victim) -> None:
    for body in (b"", b"{}", b"\x81\xa3job\xa3abc", os.urandom(1000)):
        assert victim.ask("POST", "/jobs", body)[0] == 400


def test_ids_of_nothing_are_404_and_ids_that_are_none_400(victim: Victim) -> None:
    for path, status in (
        (f"/jobs/{MISSING}", 404),
        (f"/jobs/{MISSING}/checkpoints", 404),
        (f"/jobs/{JOB}/vertices/{MISSING}", 404),
        (f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/99", 404),
        (f"/jobs/{JOB}/savepoints/{MISSING}", 404),
        ("/taskmanagers/none", 404),
        ("/no/such/path", 404),
        ("/jobs/", 404),
        ("/jobs/xyz", 400),
        (f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/-1", 400),
        (f"/jobs/{JOB}/exceptions?maxExceptions=many", 400),
        (f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/metrics?subtasks={'9' * 5000}", 400),
    ):
        assert victim.ask("GET", path)[0] == status, path
    assert victim.ask("PATCH", f"/jobs/{MISSING}")[0] == 404
    assert victim.ask("POST", f"/jobs/{MISSING}/savepoints", b"{}")[0] == 404


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_do_not_lead_out_of_their_folder(victim: Victim, name: str) -> None:
    name = name.replace(" ", "%20")
    for method, path in (
        ("GET", f"/jobs/{name}"),
        ("GET", f"/artifacts/{name}"),
        ("PUT", f"/artifacts/{name}"),
        ("DELETE", f"/jars/{name}"),
        ("POST", f"/jars/{name}/run"),
        ("GET", f"/taskmanagers/{name}"),
        ("GET", f"/taskmanagers/{name}/logs/{name}"),
        ("GET", f"/taskmanagers/0/logs/{name}"),
        ("GET", f"/jobmanager/logs/{name}"),
        ("GET", f"/{name}"),
    ):
        status, answer = victim.ask(method, path, b"x" if method == "PUT" else None)
        assert status in (400, 403, 404, 405), (method, path, status, answer)


def test_large_bodies_are_refused_when_they_are_announced(victim: Victim) -> None:
    """Nothing of them is read."""
    for method, path in (
        ("POST", f"/jobs/{JOB}/stop"),
        ("POST", "/jobs"),
        ("PUT", f"/artifacts/{'a' * 64}"),
        ("POST", "/jars/upload"),
    ):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {100 << 20}\r\n\r\n"
        with socket.create_connection(victim.server.address, timeout=30) as connection:
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 413"), path


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"/jobs/{JOB}/stop"),
        ("POST", "/jobs"),
        ("PUT", f"/artifacts/{'a' * 64}"),
        ("GET", "/overview"),
    ],
)
def test_100_megabytes_in_pieces_do_not_fill_the_memory(
    victim: Victim, method: str, path: str
) -> None:
    assert victim.ask("GET", "/overview")[0] == 200
    process = psutil.Process()
    before = process.memory_info().rss
    most = before

    def pieces() -> Iterator[bytes]:
        nonlocal most
        for _ in range(100):
            yield PIECE
            most = max(most, process.memory_info().rss)

    status, _ = victim.ask(method, path, pieces())
    assert status == (413 if method != "GET" else 200)
    assert most - before < 20 << 20


def test_a_client_that_stops_in_the_middle_of_a_body_is_told_so(victim: Victim) -> None:
    for method, path in (("POST", f"/jobs/{JOB}/stop"), ("PUT", f"/artifacts/{'a' * 64}")):
        with socket.create_connection(victim.server.address, timeout=30) as connection:
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_half_open_connections_keep_nobody_waiting_and_are_ended(
    victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHttp, "head_s", 1.0)
    slow = [socket.create_connection(victim.server.address, timeout=30) for _ in range(200)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(b"GET /overview HTTP/1.1\r\nX-Slow: "[: number % 33])
        assert victim.ask("GET", "/overview")[0] == 200
        assert [connection.recv(1) for connection in slow] == [b""] * len(slow)
    finally:
        for connection in slow:
            connection.close()


def test_a_second_request_that_does_not_end_is_ended(
    victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHttp, "head_s", 0.2)
    with socket.create_connection(victim.server.address, timeout=30) as connection:
        connection.sendall(b"GET /no HTTP/1.1\r\nHost: localhost\r\n\r\n")
        heard = b""
        while not heard.endswith(b"}"):
            heard += connection.recv(65536)
        connection.sendall(b"GET /no HT")
        assert connection.recv(65536) == b""


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /overview HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /jobs HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /overview HTTP/1.1\r\n Folded: x\r\nBad Header\r\n\r\n",
    ],
)
def test_nonsense_on_the_wire_is_400_and_ends_the_connection(victim: Victim, data: bytes) -> None:
    answer = victim.say(data)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1 ") <= 1


def test_pipelined_requests_are_answered_in_order(victim: Victim) -> None:
    one = b"GET /jobs/%b HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = b"".join(one % name for name in (JOB.encode(), MISSING.encode(), b"xyz"))

    with socket.create_connection(victim.server.address, timeout=30) as connection:
        connection.sendall(said)
        heard = b""
        while heard.count(b"HTTP/1.1 ") < 3:
            heard += connection.recv(65536)
    assert [line[:3] for line in heard.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"400"]


def test_a_request_behind_a_refused_body_is_not_taken_from_the_body(victim: Victim) -> None:
    """What stands in a body that nobody reads is no request."""
    inner = f"PATCH /jobs/{JOB} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for path in ("/overview", "/no/such/path"):
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(inner)}\r\n\r\n".encode()
        with socket.create_connection(victim.server.address, timeout=30) as connection:
            connection.sendall(head + inner + b"GET /no HTTP/1.1\r\nConnection: close\r\n\r\n")
            heard = b"".join(iter(lambda: connection.recv(65536), b""))
        assert heard.count(b"HTTP/1.1 ") == 2


def test_huge_heads_are_431(victim: Victim) -> None:
    for data in (
        b"GET /overview HTTP/1.1\r\nX: " + b"x" * 1_000_000,
        b"GET /" + b"x" * 1_000_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
    ):
        with socket.create_connection(victim.server.address, timeout=30) as connection:
            try:
                connection.sendall(data)
                answer = connection.recv(100)
            except ConnectionError:  # hung up while we sent
                continue
            assert answer == b"" or answer.startswith(b"HTTP/1.1 431")


def test_parameters_given_twice_are_lists_or_refused(victim: Victim) -> None:
    metrics = f"/jobs/{JOB}/metrics?get=uptime&get=numRestarts"
    status, answer = victim.ask("GET", metrics)
    assert (status, len(answer["metrics"])) == (200, 2)
    assert victim.ask("PATCH", f"/jobs/{JOB}?mode=cancel&mode=cancel")[0] == 400
    assert victim.ask("PATCH", f"/jobs/{JOB}/rescaling?parallelism=1&parallelism=2")[0] == 400


def test_head_is_get_without_a_body_and_other_methods_are_405(victim: Victim) -> None:
    assert victim.ask("HEAD", f"/jobs/{JOB}") == (200, None)
    assert victim.ask("HEAD", f"/jobs/{MISSING}") == (404, None)
    assert victim.ask("HEAD", f"/jobs/{JOB}/stop") == (405, None)
    for method in ("OPTIONS", "TRACE", "PUT", "DELETE", "PROPFIND"):
        assert victim.ask(method, f"/jobs/{JOB}")[0] in (400, 405), method
    connection = http.client.HTTPConnection(*victim.server.address, timeout=30)
    connection.request("OPTIONS", f"/jobs/{JOB}")
    assert connection.getresponse().headers["Allow"] == "GET, HEAD, PATCH"
    connection.close()


@pytest.mark.parametrize(
    "given",
    [
        None,
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \u00e9",
        f"Bearer {TOKEN} {TOKEN}",
    ],
)
def test_without_the_token_nothing_happens(tmp_path: Path, given: str | None) -> None:
    victim = Victim(tmp_path, access=Access(token=TOKEN))
    headers = {} if given is None else {"Authorization": given}
    try:
        for method, path in (
            ("GET", "/overview"),
            ("GET", "/openapi.json"),
            ("GET", "/no/such/path"),
            ("PATCH", f"/jobs/{JOB}"),
            ("POST", f"/jobs/{JOB}/stop"),
            ("PUT", f"/artifacts/{'a' * 64}"),
            ("POST", "/jars/upload"),
            ("DELETE", "/cluster"),
        ):
            status, answer = victim.ask(method, path, headers=headers)
            assert (status, TOKEN in str(answer)) == (401, False), (method, path)
        victim.assert_unmoved()
    finally:
        victim.server.close()
