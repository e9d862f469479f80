"""A sink that writes records to a server over a TCP connection."""

from __future__ import annotations

import logging
import socket
import time
from typing import Any, Final

from riverrun.api.serialization import SerializationSchema
from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.sockets.text_source import check_address
from riverrun.core.errors import ExternalError

__all__ = ["SocketSink"]

log = logging.getLogger(__name__)

_CONNECT_S: Final = 10.0
_BACKOFF: Final = Backoff(first_s=0.1, most_s=1.0)


class SocketSink(Sink[Any]):
    """Sends the bytes of each record to a server, one connection per subtask.

    A server that goes away may not have read what was sent last, and what is sent again after a failure
    arrives twice: this sink promises nothing.

    Args:
        hostname: the server's.
        port: the server's.
        schema: makes the bytes; text is written by ``SimpleStringSchema``.
        max_retries: how often in a row to connect again when sending fails, at most a second apart;
            negative: for ever.
        delimiter: what follows each record; a line feed.
    """

    def __init__(
        self,
        hostname: str,
        port: int,
        schema: SerializationSchema,
        max_retries: int = 0,
        *,
        delimiter: bytes = b"\n",
    ) -> None:
        check_address("socket sink", hostname, port)
        if not isinstance(schema, SerializationSchema):
            raise TypeError(
                f"socket sink: the schema is {schema!r}; expected a SerializationSchema, such as "
                f"SimpleStringSchema()"
            )
        self.hostname, self.port = hostname, port
        self.schema = schema
        self.max_retries = max_retries
        self.delimiter = delimiter

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        del context
        return _SocketWriter(self)


class _SocketWriter(SinkWriter[Any]):
    def __init__(self, sink: SocketSink) -> None:
        self._sink = sink
        self._connection: socket.socket | None = None

    def open(self) -> None:
        self._sink.schema.open()
        self._persist(b"")

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        delimiter = self._sink.delimiter
        self._persist(
            b"".join(each + delimiter for each in self._sink.schema.serialize_run(values))
        )

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _persist(self, data: bytes) -> None:
        """Send ``data``, over as many connections as it takes and are allowed."""
        failures = 0
        while True:
            try:
                self._send(data)
            except OSError as error:
                self.close()
                failures += 1
                if 0 <= self._sink.max_retries < failures:
                    raise ExternalError(
                        f"socket sink: cannot write to {self._sink.hostname}:{self._sink.port} "
                        f"({error}), tried {failures} times; start the server, or set max_retries "
                        f"to wait longer"
                    ) from error
                log.info("connection is gone, trying again failures=%d error=%s", failures, error)
                time.sleep(_BACKOFF.delay(failures - 1))
            else:
                return

    def _send(self, data: bytes) -> None:
        if self._connection is None:
            address = self._sink.hostname, self._sink.port
            self._connection = socket.create_connection(address, timeout=_CONNECT_S)
            # From here on a slow server is back pressure, not a failure.
            self._connection.settimeout(None)
        self._connection.sendall(data)
