"""Real HTTP and WebSocket servers on loopback, with what they answer in the hands of the test."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

WAIT_S = 20.0


@dataclass(frozen=True)
class Call:
    """A request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """What the server says; status 0: it closes the connection without a word."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class WebServer:
    """Answers with ``handle``, or with what is queued in ``answers`` first; keeps all requests."""

    def __init__(self, handle: Callable[[Call], Answer] | None = None) -> None:
        self.handle = handle or (lambda call: Answer())
        self.answers: deque[Answer] = deque()
        self.calls: list[Call] = []
        self._called = threading.Condition()
        self.port = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        app = Starlette(
            routes=[Route("/{path:path}", self._answer, methods=["GET", "POST", "PUT"])]
        )
        config = uvicorn.Config(app, log_config=None, ws="none", lifespan="off")
        self._server = server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=lambda: server.run(sockets=[listener]), name="web server", daemon=True
        )
        self._thread.start()

    def reset(self) -> None:
        """Forget everything, and be there."""
        if self._server is None:
            self.start()
        self.handle = lambda call: Answer()
        self.answers.clear()
        self.calls.clear()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = self._server.force_exit = True
            self._thread.join(WAIT_S)
            assert not self._thread.is_alive()
            self._server = None

    def await_calls(self, count: int) -> None:
        with self._called:
            assert self._called.wait_for(lambda: len(self.calls) >= count, WAIT_S)

    async def _answer(self, request: Request) -> Response:
        call = Call(
            request.method,
            request.url.path,
            dict(request.query_params),
            dict(request.headers),
            await request.body(),
        )
        with self._called:
            self.calls.append(call)
            answer = self.answers.popleft() if self.answers else self.handle(call)
            self._called.notify_all()
        return Response(answer.body, answer.status, answer.headers)


@contextmanager
def web_server(handle: Callable[[Call], Answer] | None = None) -> Iterator[WebServer]:
    server = WebServer(handle)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class MessageServer:
    """A WebSocket server that runs ``talk`` with each connection, and keeps what it was sent."""

    def __init__(self, talk: Callable[[ServerConnection, int], None]) -> None:
        self._talk = talk
        self.received: list[str | bytes] = []
        self.headers: list[dict[str, str]] = []
        self._count = 0
        self._changed = threading.Condition()
        self._server: Server = serve(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def take_in(self, messages: Iterable[str | bytes]) -> None:
        """Keep each message; until the connection is gone."""
        try:
            for message in messages:
                with self._changed:
                    self.received.append(message)
                    self._changed.notify_all()
        except ConnectionClosed:
            pass

    def await_received(self, count: int) -> None:
        assert self.has_received(count, WAIT_S)

    def has_received(self, count: int, within_s: float) -> bool:
        """Whether so many messages are there, or come in that time."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.received) >= count, within_s)

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join(WAIT_S)

    def _serve(self, connection: ServerConnection) -> None:
        with self._changed:
            number, self._count = self._count, self._count + 1
            assert connection.request is not None
            self.headers.append(dict(connection.request.headers.raw_items()))
        self._talk(connection, number)
