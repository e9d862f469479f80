"""A source of text that a server sends over a TCP connection."""

from __future__ import annotations

import contextlib
import logging
import socket
from typing import Any, Final

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.feed import Feed
from riverrun.connectors.base.live_messages import LiveReader, LiveSplit
from riverrun.core.errors import ExternalError
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["SocketTextSource"]

log = logging.getLogger(__name__)

_CONNECT_S: Final = 10.0
_CHUNK: Final = 1 << 16
_BACKOFF: Final = Backoff(first_s=0.1, most_s=1.0)


class SocketTextSource(Source[str]):
    """The pieces of text that a server sends, cut at a delimiter; at parallelism 1.

    Nothing of it can be read again: after a failure the source goes on with what the server sends then,
    and what was sent since the last checkpoint may be lost.

    Args:
        hostname: the server's.
        port: the server's.
        delimiter: what ends a record; a line feed also takes a carriage return before it away.
        max_retry: how often in a row to try again when the server is not there or closes the connection,
            at most a second apart; 0: the stream ends with the connection. Negative: for ever.
        charset: of the text.
        bad_records: what becomes of bytes that are no text.
    """

    def __init__(
        self,
        hostname: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        *,
        charset: str = "UTF-8",
        bad_records: BadRecords = BadRecords.FAIL,
    ) -> None:
        check_address("socket source", hostname, port)
        if not isinstance(delimiter, str) or not delimiter:
            raise ValueError(
                f"socket source: the delimiter is {delimiter!r}; expected a str that is not empty"
            )
        self.hostname, self.port = hostname, port
        self.max_retry = max_retry
        self.schema = SimpleStringSchema(charset)
        self.delimiter = delimiter.encode(charset)
        self.bad_records = bad_records

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [LiveSplit()]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[str]:
        return _SocketReader(self, splits, context)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        return Types.STRING()

    def get_forced_parallelism(self) -> int | None:
        return 1


def check_address(who: str, hostname: Any, port: Any) -> None:
    """Refuse what cannot be the address of a server."""
    if not isinstance(hostname, str) or not hostname:
        raise ValueError(f"{who}: the host is {hostname!r}; expected a name or an address")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
        raise ValueError(f"{who}: the port is {port!r}; expected 1 to 65535")


class _SocketReader(LiveReader):
    def __init__(
        self, source: SocketTextSource, splits: list[LiveSplit], context: SourceReaderContext
    ) -> None:
        super().__init__(splits, context, source.schema, source.bad_records)
        self._source = source
        self._connection: socket.socket | None = None
        self._pieces = Pieces(source.delimiter)

    def origin(self, number: int) -> str:
        return f"socket {self._source.hostname}:{self._source.port} record {number}"

    def receive(self, feed: Feed[list[bytes]]) -> None:
        failures = 0
        while feed.is_wanted:
            error: OSError | None = None
            try:
                if self._receive_once(feed):
                    failures = 0
            except OSError as raised:
                error = raised
            failures += 1
            if 0 <= self._source.max_retry < failures:
                if error is not None and feed.is_wanted:
                    raise self._gone(error, failures) from error
                break
            log.info("connection is gone, trying again %s failures=%d", self._address(), failures)
            if not feed.pause(_BACKOFF.delay(failures - 1)):
                return
        rest = self._pieces.rest()
        if rest:
            feed.put([rest])

    def interrupt(self) -> None:
        connection = self._connection
        if connection is not None:
            # Closing alone would not wake a thread that waits in recv.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _receive_once(self, feed: Feed[list[bytes]]) -> bool:
        """Read one connection to its end; whether anything came."""
        address = self._source.hostname, self._source.port
        came = False
        with socket.create_connection(address, timeout=_CONNECT_S) as connection:
            connection.settimeout(None)
            self._connection = connection
            while feed.is_wanted and (data := connection.recv(_CHUNK)):
                came = True
                messages = self._pieces.add(data)
                if messages and not feed.put(messages, len(messages)):
                    break
        return came

    def _address(self) -> str:
        return f"host={self._source.hostname} port={self._source.port}"

    def _gone(self, error: OSError, failures: int) -> ExternalError:
        return ExternalError(
            f"socket source: cannot read from {self._source.hostname}:{self._source.port} "
            f"({error}), tried {failures} times; start the server, or set max_retry to wait longer"
        )


class Pieces:
    """Cuts bytes into messages at a delimiter, wherever the chunks end.

    >>> pieces = Pieces(b"--")
    >>> pieces.add(b"a-"), pieces.add(b"-b--"), pieces.add(b"c"), pieces.rest()
    ([], [b'a', b'b'], [], b'c')
    """

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        self._is_lines = delimiter == b"\n"
        self._begun = b""

    def add(self, data: bytes) -> list[bytes]:
        """The messages that end with ``data``."""
        *whole, self._begun = (self._begun + data).split(self._delimiter)
        return [self._trimmed(each) for each in whole] if self._is_lines else whole

    def rest(self) -> bytes:
        """What was begun and not ended; once."""
        rest, self._begun = self._begun, b""
        return self._trimmed(rest) if self._is_lines else rest

    @staticmethod
    def _trimmed(line: bytes) -> bytes:
        return line[:-1] if line.endswith(b"\r") else line
