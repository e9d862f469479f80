"""The interface on a real port: addresses, tokens, TLS, slow and greedy clients."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.errors import ConfigError, ExternalError
from riverrun.rest.access import Access
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer, ServerSettings, ports_in
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.reports import JOB

NOTHING = rest_app(RestContext(RecordedDispatcher()), ())


@contextmanager
def serving(**settings: Any) -> Iterator[RestServer]:
    app = rest_app(RestContext(RecordedDispatcher()), ROUTES)
    server = RestServer(app, ServerSettings(**settings))
    server.start()
    try:
        yield server
    finally:
        server.close()


def status_of(url: str, headers: dict[str, str] | None = None, **more: Any) -> int:
    request = urllib.request.Request(url, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=10, **more) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as e:
        with e:
            words = json.loads(e.read())["errors"]
        return e.code if words else 0


def test_it_serves_on_loopback_until_it_is_closed() -> None:
    with serving() as server:
        url = server.url
        assert url.startswith("http://127.0.0.1:")
        assert status_of(f"{url}/v1/jobs/{JOB}") == 200

    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/overview", timeout=1)


def test_a_taken_port_is_passed_over_and_no_port_at_all_is_an_error() -> None:
    with serving() as first:
        taken = first.address[1]
        with serving(ports=(taken, 0)) as second:
            assert second.address[1] != taken
        with pytest.raises(ExternalError, match=r"cannot serve .* 'rest.bind-port'"):
            RestServer(NOTHING, ServerSettings(ports=(taken,))).start()


def test_without_proof_of_who_calls_it_does_not_serve_other_machines() -> None:
    with pytest.raises(ConfigError, match=r"'0\.0\.0\.0', which other machines can reach"):
        ServerSettings.from_config({"rest.bind-address": "0.0.0.0"})

    ServerSettings.from_config({"rest.bind-address": "0.0.0.0", "riverrun.rest.token": "s3cret"})


def test_only_who_knows_the_token_is_answered() -> None:
    with serving(access=Access(token="s3cret")) as server:
        url = f"{server.url}/overview"
        assert status_of(url) == 401
        assert status_of(url, {"Authorization": "Bearer wrong"}) == 401
        assert status_of(url, {"Authorization": "Basic s3cret"}) == 401
        assert status_of(url, {"Authorization": "bearer s3cret"}) == 200


def test_the_token_is_not_shown() -> None:
    assert "s3cret" not in repr(Access(token="s3cret"))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    for name in ("server", "client"):
        openssl(
            *(
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *(
                "-keyout",
                f"{name}.key",
                "-out",
                f"{name}.pem",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
            ),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        )
    return folder


def test_with_a_client_authority_only_its_clients_get_in(certificates: Path) -> None:
    access = Access(
        certificate=str(certificates / "server.pem"),
        key=str(certificates / "server.key"),
        client_authority=str(certificates / "client.pem"),
    )
    known = ssl.create_default_context(cafile=str(certificates / "server.pem"))
    known.load_cert_chain(certificates / "client.pem", certificates / "client.key")
    stranger = ssl.create_default_context(cafile=str(certificates / "server.pem"))

    with serving(access=access) as server:
        assert server.url.startswith("https://")
        assert status_of(f"{server.url}/overview", context=known) == 200
        with pytest.raises((ssl.SSLError, OSError)):
            status_of(f"{server.url}/overview", context=stranger)


def test_a_certificate_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'/no/such\.pem', which cannot be loaded"):
        RestServer(
            NOTHING,
            ServerSettings(access=Access(certificate="/no/such.pem", key="/no/such.key")),
        )


def test_client_certificates_need_tls() -> None:
    with pytest.raises(ConfigError, match="needs TLS"):
        Access(client_authority="/a.pem").check("127.0.0.1")


def test_a_client_that_says_nothing_keeps_nobody_waiting() -> None:
    with serving() as server, socket.create_connection(server.address) as silent:
        silent.sendall(
            b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        )
        assert status_of(f"{server.url}/overview") == 200


def test_nonsense_on_the_wire_is_answered_400() -> None:
    with serving() as server, socket.create_connection(server.address) as client:
        client.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("text", ["", "http", "70000", "1-", "-5", "9-x"])
def test_ports_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"rest.bind-port.*expected a port"):
        ports_in(text)
