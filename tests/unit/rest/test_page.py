"""The page's files: served to anybody, as they are, and nothing else from the disk."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator

import pytest

from riverrun import ui
from riverrun.rest.access import Access
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer, ServerSettings
from tests.unit.rest.conftest import RecordedDispatcher


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    app = rest_app(RestContext(RecordedDispatcher()), ROUTES)
    server = RestServer(app, ServerSettings(access=Access(token="s3cret")))
    server.start()
    yield server
    server.close()


def ask(
    server: RestServer, path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(*server.address, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_the_page_needs_no_token_but_what_it_shows_does(server: RestServer) -> None:
    status, headers, content = ask(server, "/")

    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert content == (ui.FOLDER / "index.html").read_bytes()
    assert ask(server, "/jobs/overview")[0] == 401


def test_every_file_that_the_page_names_is_there(server: RestServer) -> None:
    _, _, content = ask(server, "/")
    named = re.findall(r'(?:href|src)="([^"]+)"', content.decode())

    assert named
    for name in named:
        status, headers, _ = ask(server, f"/{name}")
        assert status == 200, name
        assert headers["x-content-type-options"] == "nosniff"


def test_scripts_have_a_type_that_browsers_run(server: RestServer) -> None:
    assert ask(server, "/ui/app.js")[1]["content-type"].startswith("text/javascript")
    assert ask(server, "/ui/styles/base.css")[1]["content-type"].startswith("text/css")


def test_the_page_may_ask_nobody_but_its_server_and_be_framed_by_nobody(server: RestServer) -> None:
    policy = ask(server, "/")[1]["content-security-policy"]

    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy


def test_a_file_is_sent_again_only_when_it_has_changed(server: RestServer) -> None:
    _, headers, _ = ask(server, "/ui/app.js")
    status, again, content = ask(server, "/ui/app.js", **{"If-None-Match": headers["etag"]})

    assert (status, content) == (304, b"")
    assert again["etag"] == headers["etag"]
    assert again["cache-control"] == "no-cache"


def test_a_head_request_gets_no_body(server: RestServer) -> None:
    status, headers, content = ask(server, "/", "HEAD")

    assert (status, content) == (200, b"")
    assert int(headers["content-length"]) > 0


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../__init__.py",
        "/ui/%2e%2e/%2e%2e/pyproject.toml",
        "/ui//etc/passwd",
        "/ui/__init__.py",
        "/ui/pages",
        "/ui/none.js",
        "/ui/",
        "/ui/%00",
        "/ui/" + "a" * 5000,
    ],
)
def test_nothing_else_is_given(server: RestServer, path: str) -> None:
    status, _, content = ask(server, path)

    assert status == 404
    assert b"not a file of the page" in content


def test_only_reading_is_the_pages_business(server: RestServer) -> None:
    assert ask(server, "/", "POST")[0] == 401
