"""The JobMaster's end of one task's connection: from a stranger's bytes to a task's messages.

Runs on the control server's loop. A peer that does not prove itself within the time and bytes it is
given is dropped without a word.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import cast

from riverrun.cluster.links import JobGateway
from riverrun.core.clock import Clock
from riverrun.core.errors import ExternalError
from riverrun.protocol.auth import MAX_HANDSHAKE_BYTES, AuthRefused, JobMasterHandshake
from riverrun.protocol.control import (
    Down,
    Heartbeat,
    HeartbeatAck,
    MalformedMessage,
    Register,
    decode_up,
    encode,
)
from riverrun.protocol.wire import FrameDecoder, frame

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostedJob:
    """A job whose tasks may connect."""

    secret: bytes
    gateway: JobGateway


@dataclass(frozen=True, slots=True)
class ConnectionTerms:
    """What all connections of a server share."""

    clock: Clock
    job_of: Callable[[str], HostedJob | None]
    handshake_timeout_ms: float
    max_message_bytes: int
    on_gone: Callable[[TaskConnection], None]


class _Phase(Enum):
    PROVING = auto()
    REGISTERING = auto()
    OPEN = auto()
    CLOSED = auto()


class TaskConnection(asyncio.Protocol):
    """One accepted connection; a ``TaskLink`` once the task is known."""

    def __init__(self, terms: ConnectionTerms) -> None:
        self._terms = terms
        self._loop = asyncio.get_running_loop()
        self._phase = _Phase.PROVING
        self._decoder = FrameDecoder(MAX_HANDSHAKE_BYTES)
        self._handshake = JobMasterHandshake(self._secret_of)
        self._strange_bytes = 0
        self._job: HostedJob | None = None
        self._name = ""
        self._why_closed = "the task closed the connection"
        self._transport: asyncio.Transport | None = None
        self._patience: asyncio.TimerHandle | None = None
        self.last_heard = terms.clock.monotonic()

    @property
    def job_name(self) -> str | None:
        """The job that the task belongs to, once it proved it."""
        return self._name or None

    def send(self, message: Down) -> None:
        self._on_loop(self._write, encode(message))

    def close(self) -> None:
        self._on_loop(self._close)

    def abort(self) -> None:
        self._on_loop(self._drop, "the JobMaster dropped the connection", logging.DEBUG)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # asyncio hands stream protocols a Transport; its signature says only the base class.
        self._transport = cast("asyncio.Transport", transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._patience = self._loop.call_later(
            self._terms.handshake_timeout_ms / 1000, self._lose_patience
        )

    def data_received(self, data: bytes) -> None:
        self.last_heard = self._terms.clock.monotonic()
        self._decoder.feed(data)
        try:
            self._count_strange(data)
            while (
                self._phase is not _Phase.CLOSED
                and (payload := self._decoder.next_payload()) is not None
            ):
                self._take(payload)
        except ExternalError as e:
            self._drop(str(e))

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = _Phase.CLOSED
        if self._patience is not None:
            self._patience.cancel()
        if exc is not None:
            self._why_closed = f"the connection broke: {exc}"
        if self._job is not None:
            job, self._job = self._job, None
            job.gateway.closed(self, self._why_closed)
        self._terms.on_gone(self)

    def _secret_of(self, job: str) -> bytes | None:
        hosted = self._terms.job_of(job)
        return None if hosted is None else hosted.secret

    def _count_strange(self, data: bytes) -> None:
        if self._phase is _Phase.PROVING:
            self._strange_bytes += len(data)
            if self._strange_bytes > MAX_HANDSHAKE_BYTES:
                raise AuthRefused(
                    f"control connection: {self._strange_bytes} bytes before a proof, "
                    f"at most {MAX_HANDSHAKE_BYTES} are read"
                )

    def _take(self, payload: bytes) -> None:
        match self._phase:
            case _Phase.PROVING:
                self._prove(payload)
            case _Phase.REGISTERING:
                self._register(payload)
            case _:
                self._receive(payload)

    def _prove(self, payload: bytes) -> None:
        self._write(self._handshake.receive(payload))
        if self._handshake.done:
            self._name = self._handshake.job
            self._decoder.limit_bytes = self._terms.max_message_bytes
            self._phase = _Phase.REGISTERING

    def _register(self, payload: bytes) -> None:
        message = decode_up(payload)
        if not isinstance(message, Register) or message.job != self._name:
            raise MalformedMessage(
                f"control connection: expected Register of job {self._name!r}, got {message!r:.200}"
            )
        hosted = self._terms.job_of(self._name)
        if hosted is None:
            raise AuthRefused(f"control connection: job {self._name!r} has just ended")
        if self._patience is not None:
            self._patience.cancel()
        self._job = hosted
        self._phase = _Phase.OPEN
        hosted.gateway.opened(self, message)

    def _receive(self, payload: bytes) -> None:
        message = decode_up(payload)
        if isinstance(message, Heartbeat):
            self._write(encode(HeartbeatAck()))
        elif self._job is not None:
            self._job.gateway.received(self, message)

    def _lose_patience(self) -> None:
        self._drop("no proof and registration in time")

    def _write(self, payload: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame(payload))

    def _close(self) -> None:
        if self._transport is not None:
            self._why_closed = "the JobMaster closed the connection"
            self._transport.close()

    def _drop(self, why: str, level: int = logging.WARNING) -> None:
        if self._phase is _Phase.CLOSED or self._transport is None:
            return
        log.log(level, "control connection dropped job=%s reason=%s", self._name or "?", why)
        self._why_closed = why
        self._phase = _Phase.CLOSED
        self._transport.abort()

    def _on_loop(self, call: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            # The server is closed, and with it this connection.
            log.debug("control connection: nothing sent, the server is closed")
