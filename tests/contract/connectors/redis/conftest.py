"""One Redis server for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.redis import RedisServer, redis_server


@pytest.fixture(scope="session")
def shared_server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def server(shared_server: RedisServer) -> RedisServer:
    """A server that holds nothing."""
    shared_server.wipe()
    return shared_server


@pytest.fixture
def redis(server: RedisServer) -> Iterator[Any]:
    """A client of the test's own."""
    client = server.client()
    yield client
    client.close()


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """Whatever a test puts here is closed after it."""
    things: list[Any] = []
    yield things
    while things:
        things.pop().close()
