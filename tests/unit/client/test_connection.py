from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from riverrun.client.connection import Connection, Endpoint, JobManagerGone, RequestRefused
from riverrun.client.job_manager import JobManagerClient
from riverrun.core.errors import ConfigError, ExternalError
from riverrun.rest.access import Access
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer, ServerSettings
from tests.unit.rest.conftest import RecordedDispatcher


@contextmanager
def answering(*answers: bytes) -> Iterator[int]:
    """A port on which each connection gets the next of ``answers`` and is closed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def http(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def test_a_jobmanager_that_is_not_there_is_named_with_what_to_do() -> None:
    port = closed_port()

    with pytest.raises(JobManagerGone, match=rf"127\.0\.0\.1:{port}.*river cluster start"):
        JobManagerClient(Endpoint("127.0.0.1", port)).jobs()


def test_an_answer_that_is_no_json_is_an_error_of_the_other_side() -> None:
    with answering(http(b"<html>hello</html>")) as port:
        client = JobManagerClient(Endpoint("127.0.0.1", port))
        with pytest.raises(ExternalError, match="is not understood"):
            client.jobs()
        client.connection.close()


def test_a_refusal_without_words_is_shown_by_its_status() -> None:
    with answering(http(b"<html>", "502 Bad Gateway")) as port:
        client = JobManagerClient(Endpoint("127.0.0.1", port))
        with pytest.raises(RequestRefused, match="502 Bad Gateway"):
            client.jobs()
        client.connection.close()


def test_what_may_be_repeated_is_sent_again_when_the_connection_breaks() -> None:
    with answering(b"", http(b'{"jobs": []}')) as port:
        client = JobManagerClient(Endpoint("127.0.0.1", port))
        assert client.jobs().jobs == []
        client.connection.close()


def test_what_may_not_be_repeated_is_sent_once() -> None:
    with answering(b"") as port:
        connection = Connection(Endpoint("127.0.0.1", port))
        with pytest.raises(JobManagerGone):
            connection.send("POST", "/jobs", b"x")
        connection.close()


@pytest.mark.parametrize("token", [None, "wrong"])
def test_a_wrong_token_is_refused_and_the_right_one_is_not_shown(token: str | None) -> None:
    settings = ServerSettings(access=Access(token="right-one"))
    app = rest_app(RestContext(RecordedDispatcher()), ROUTES)
    server = RestServer(app, settings)
    server.start()
    host, port = server.address
    try:
        with pytest.raises(RequestRefused) as refused:
            _asked(Endpoint(host, port, token=token))
        assert refused.value.status == 401
        assert "right-one" not in str(refused.value)
        assert "right-one" not in repr(Endpoint(host, port, token="right-one"))
        assert _asked(Endpoint(host, port, token="right-one")) == 1
    finally:
        server.close()


def test_another_jobmanager_is_asked_when_this_one_is_gone(server: RestServer) -> None:
    host, port = server.address
    connection = Connection(Endpoint("127.0.0.1", closed_port()), lambda: Endpoint(host, port))

    connection.send("GET", "/overview")

    assert connection.endpoint.port == port
    connection.close()


def test_nobody_is_asked_for_ever_when_the_leader_is_gone_too() -> None:
    gone = Endpoint("127.0.0.1", closed_port())

    with pytest.raises(JobManagerGone):
        Connection(Endpoint("127.0.0.1", closed_port()), lambda: gone).send("GET", "/overview")


@pytest.mark.parametrize("address", ["", "ftp://here:1", "host:port", "http://:8081"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="expected host:port"):
        Endpoint.of(address, {})


def _asked(endpoint: Endpoint) -> int:
    client = JobManagerClient(endpoint)
    try:
        return len(client.jobs().jobs)
    finally:
        client.connection.close()
