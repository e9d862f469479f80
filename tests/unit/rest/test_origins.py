"""Pages of others in a browser on this machine can neither do anything here nor read anything."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from riverrun.rest.access import Access
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.origins import Origins
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer, ServerSettings
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.reports import JOB

OTHER = "https://elsewhere.example"


@contextmanager
def serving(
    access: Access | None = None, allowed: str | None = None
) -> Iterator[tuple[RestServer, RecordedDispatcher]]:
    config = {} if allowed is None else {"web.access-control-allow-origin": allowed}
    dispatcher = RecordedDispatcher()
    server = RestServer(
        rest_app(RestContext(dispatcher), ROUTES),
        ServerSettings(access=access or Access(), origins=Origins.from_config(config)),
    )
    server.start()
    try:
        yield server, dispatcher
    finally:
        server.close()


def ask(
    server: RestServer, method: str, path: str, **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection(*server.address, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("origin", [OTHER, "null", "http://127.0.0.1:1", "127.0.0.1", ""])
def test_another_page_cannot_cancel_a_job(origin: str) -> None:
    with serving() as (server, _):
        status, headers, words = ask(
            server, "PATCH", f"/jobs/{JOB}?mode=cancel", Origin=origin or "x"
        )

    assert status == 403
    assert "'web.access-control-allow-origin'" in words
    assert headers["access-control-allow-origin"] is None


def test_its_own_page_may_call_under_each_of_its_names() -> None:
    with serving() as (server, _):
        port = server.address[1]
        for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
            assert ask(server, "GET", "/overview", Host=name, Origin=f"http://{name}")[0] == 200


@pytest.mark.parametrize(
    "host", ["elsewhere.example", "127.0.0.1.elsewhere.example", "[", "[::2]:1"]
)
def test_a_name_of_others_that_points_here_is_refused(host: str) -> None:
    with serving() as (server, _):
        status, _, words = ask(server, "GET", "/overview", Host=host)

    assert status == 403
    assert "not a name of this machine" in words


def test_with_a_token_the_host_may_have_any_name() -> None:
    with serving(access=Access(token="s3cret")) as (server, _):
        headers = {"Host": "jobs.example", "Authorization": "Bearer s3cret"}
        assert ask(server, "GET", "/overview", **headers)[0] == 200
        assert ask(server, "GET", "/overview", **headers, Origin=OTHER)[0] == 403


@pytest.mark.parametrize("allowed", [f"https://first.example, {OTHER}/", "*"])
def test_pages_that_are_named_may_call_and_read(allowed: str) -> None:
    with serving(allowed=allowed) as (server, _):
        status, headers, _ = ask(server, "GET", "/overview", Origin=OTHER)
        before, allowing, _ = ask(server, "OPTIONS", f"/jobs/{JOB}", Origin=OTHER)

    assert (status, before) == (200, 204)
    assert headers["access-control-allow-origin"] == OTHER
    assert "PATCH" in allowing["access-control-allow-methods"]
    assert "Authorization" in allowing["access-control-allow-headers"]


def test_behind_a_proxy_the_host_is_that_of_a_named_page() -> None:
    with serving(allowed="https://jobs.example") as (server, _):
        assert ask(server, "GET", "/overview", Host="jobs.example")[0] == 200
        assert ask(server, "GET", "/overview", Host="elsewhere.example")[0] == 403
