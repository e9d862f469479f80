"""Connections of clients: those that do not say what they want are ended."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from riverrun.rest.problems import ErrorBody

_HEAD_S: Final = 20.0
"""How long a client may take to say what it wants, or to send a body that nobody reads any more."""
_MOST_HEAD: Final = 64 * 1024
"""Bytes of a request before its body."""


class BoundedHttp(HttpToolsProtocol):
    """HTTP with bounds for the head of a request: its size, and the time until it is there."""

    head_s = _HEAD_S
    _head_bytes = 0
    _in_head = True
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.head_s, transport.close)

    def data_received(self, data: bytes) -> None:
        """Take what came; the time runs whenever no request is being answered."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > _MOST_HEAD:
            self._refuse()
        elif self.cycle is not None and not self.cycle.response_complete:
            self._forget_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.head_s, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._forget_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """What follows is its body."""
        self._in_head = False
        super().on_headers_complete()

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            words = f"head of the request: more than {_MOST_HEAD} bytes"
            body = msgspec.json.encode(ErrorBody((words,)))
            self.transport.write(
                b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
                b"content-type: application/json; charset=UTF-8\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
            )
            self.transport.close()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
