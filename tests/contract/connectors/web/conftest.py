"""One web server for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.web import WebServer, web_server


@pytest.fixture(scope="session")
def shared_server() -> Iterator[WebServer]:
    with web_server() as server:
        yield server


@pytest.fixture
def server(shared_server: WebServer) -> WebServer:
    """A server that knows nothing of other tests."""
    shared_server.reset()
    return shared_server
