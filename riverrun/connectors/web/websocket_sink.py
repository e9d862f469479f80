"""A sink that sends records as messages over a WebSocket."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from riverrun.api.serialization import SerializationSchema, SimpleStringSchema
from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.web.endpoint import Endpoint, HeaderValue
from riverrun.connectors.web.websocket_messages import is_closed, web_sockets
from riverrun.core.time import Duration, DurationLike, to_millis

__all__ = ["WebSocketSink"]

log = logging.getLogger(__name__)

_LONGEST_ANSWER: Final = 1 << 20


class WebSocketSink(Sink[Any]):
    """Sends a message for each record, over one connection per subtask.

    A server that goes away may not have read what was sent last, and what is sent again after a failure
    arrives twice: this sink promises nothing. What the server sends is not looked at.

    Args:
        url: where to connect to, ``ws://`` or ``wss://``.
        schema: makes the bytes of a message; text by default.
        text: whether messages are text (UTF-8) or binary.
        greeting: what to say first on each connection: one message or several.
        headers: sent with each connection; a value may be a callable that is asked each time.
        token: sent as ``Authorization: Bearer``; the same.
        heartbeat: how often to ask whether the server is there.
        max_retries: how often in a row to connect again when the connection is gone; negative: for ever.
    """

    def __init__(  # noqa: PLR0913  (each of them names itself)
        self,
        url: str,
        schema: SerializationSchema | None = None,
        *,
        text: bool = True,
        greeting: str | bytes | Sequence[str | bytes] = (),
        headers: Mapping[str, HeaderValue] | None = None,
        token: HeaderValue | None = None,
        heartbeat: DurationLike = Duration.of_seconds(20),  # noqa: B008  (immutable)
        max_retries: int = 5,
    ) -> None:
        endpoint = Endpoint(url, ("ws", "wss"), "websocket sink", dict(headers or {}), token)
        if schema is not None and not isinstance(schema, SerializationSchema):
            raise TypeError(
                f"websocket sink: the schema is {schema!r}; expected a SerializationSchema"
            )
        self.schema = schema or SimpleStringSchema()
        self.text = text
        self.sockets = web_sockets(endpoint, to_millis(heartbeat) / 1000, _LONGEST_ANSWER, greeting)
        self.max_retries = max_retries

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        del context
        return _WebSocketWriter(self)


class _WebSocketWriter(SinkWriter[Any]):
    def __init__(self, sink: WebSocketSink) -> None:
        self._sink = sink
        self._connection: Any = None

    def open(self) -> None:
        self._sink.schema.open()
        self._send([])

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        self._send(self._sink.schema.serialize_run(values))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _send(self, messages: list[bytes]) -> None:
        """Send them all, over as many connections as it takes and are allowed."""
        sink, sockets = self._sink, self._sink.sockets
        sent = failures = 0
        while True:
            try:
                if self._connection is None:
                    self._connection = sockets.connect()
                while sent < len(messages):
                    self._connection.send(messages[sent], text=sink.text)
                    sent, failures = sent + 1, 0
                self._look_away()
            except Exception as error:
                if not isinstance(error, OSError) and not is_closed(error):
                    raise
                self.close()
                failures += 1
                if 0 <= sink.max_retries < failures:
                    raise sockets.gone(failures, error) from error
                log.info("connection is gone url=%s why=%s", sockets.endpoint, error)
                time.sleep(sockets.backoff.delay(failures - 1))
            else:
                return

    def _look_away(self) -> None:
        """Take what the server sent meanwhile: what waits for long holds heartbeats up."""
        while True:
            try:
                self._connection.recv(timeout=0)
            except TimeoutError:
                return
