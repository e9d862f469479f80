"""One port and one thread for the control connections of all jobs of this process."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from riverrun.cluster.links import JobGateway
from riverrun.cluster.task_connection import ConnectionTerms, HostedJob, TaskConnection
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import InternalError
from riverrun.protocol.wire import MAX_MESSAGE_BYTES, Address

log = logging.getLogger(__name__)

_BACKLOG: Final = 1024
_CLOSE_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server listens and what strangers may do."""

    bind_host: str = "127.0.0.1"
    port: int = 0
    """0: any free port."""
    advertised_host: str | None = None
    """The name by which tasks reach this machine; ``None``: the bound one."""
    handshake_timeout_ms: float = 10_000.0
    max_message_bytes: int = MAX_MESSAGE_BYTES


class ControlServer:
    """Accepts the tasks of many jobs, checks who they are, and hands their messages to their job.

    Methods may be called from any thread but the server's own.
    """

    def __init__(self, settings: ServerSettings | None = None, clock: Clock | None = None) -> None:
        """Listen at once, so that the address is known; connections are served after ``start``."""
        self._settings = settings or ServerSettings()
        self._jobs: dict[str, HostedJob] = {}
        self._connections: set[TaskConnection] = set()
        self._idle = threading.Condition()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._serve, name="riverrun-control-server", daemon=True
        )
        self._terms = ConnectionTerms(
            clock=clock or SystemClock(),
            job_of=self._jobs.get,
            handshake_timeout_ms=self._settings.handshake_timeout_ms,
            max_message_bytes=self._settings.max_message_bytes,
            on_gone=self._gone,
        )
        try:
            self._socket = socket.create_server(
                (self._settings.bind_host, self._settings.port), backlog=_BACKLOG
            )
        except OSError:
            self._loop.close()
            raise

    @property
    def address(self) -> Address:
        """Where tasks reach this server."""
        port: int = self._socket.getsockname()[1]
        return (self._settings.advertised_host or self._settings.bind_host, port)

    @property
    def open_connections(self) -> int:
        """How many connections there are now, strangers included."""
        with self._idle:
            return len(self._connections)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def add_job(self, job: str, secret: bytes, gateway: JobGateway) -> None:
        """Let the tasks of ``job`` connect."""
        if job in self._jobs:
            raise InternalError(f"control server: job {job!r} is there already")
        self._jobs[job] = HostedJob(secret, gateway)

    def remove_job(self, job: str) -> None:
        """Let no task of ``job`` connect any more, drop those that are, and wait until they are gone."""
        self._jobs.pop(job, None)
        for connection in self._of(job):
            connection.abort()
        self._wait_until(lambda: not self._of(job))

    def close(self) -> None:
        """Drop all connections and give the port back. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._jobs.clear()
        if self._thread.ident is None:
            self._socket.close()
            self._loop.close()
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_TIMEOUT_S)

    def _of(self, job: str) -> list[TaskConnection]:
        with self._idle:
            return [connection for connection in self._connections if connection.job_name == job]

    def _wait_until(self, there: Callable[[], bool]) -> None:
        with self._idle:
            if not self._idle.wait_for(lambda: self._closed or there(), _CLOSE_TIMEOUT_S):
                log.warning("control server: connections do not close")

    def _connect(self) -> TaskConnection:
        connection = TaskConnection(self._terms)
        with self._idle:
            self._connections.add(connection)
        return connection

    def _gone(self, connection: TaskConnection) -> None:
        with self._idle:
            self._connections.discard(connection)
            self._idle.notify_all()

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            listener = loop.run_until_complete(
                loop.create_server(self._connect, sock=self._socket, backlog=_BACKLOG)
            )
            loop.run_forever()
            listener.close()
            loop.run_until_complete(self._drop_all())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _drop_all(self) -> None:
        # Connections that are just being accepted are tasks of the loop: they end within a turn or two.
        accepting = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*accepting, return_exceptions=True)
        while True:
            with self._idle:
                left = list(self._connections)
            if not left:
                return
            for connection in left:
                connection.abort()
            # An aborted transport reports its end on the loop's next turn.
            await asyncio.sleep(0)
