"""A source of the messages that a server sends over a WebSocket."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import DeserializationSchema, SimpleStringSchema
from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.connectors.base.feed import Feed
from riverrun.connectors.base.live_messages import LiveReader, LiveSplit
from riverrun.connectors.web.endpoint import Endpoint, HeaderValue
from riverrun.connectors.web.websocket_messages import is_closed, is_proper_end, web_sockets
from riverrun.core.time import Duration, DurationLike, to_millis
from riverrun.serde.type_info import TypeInformation

__all__ = ["WebSocketSource"]

log = logging.getLogger(__name__)

_MOST_AT_ONCE: Final = 512
_LONGEST_MESSAGE: Final = 1 << 24


class WebSocketSource(Source[Any]):
    """The messages of a server, text or binary, one record each; at parallelism 1.

    Nothing of it can be read again: after a failure the source goes on with what the server sends then,
    and what was sent since the last checkpoint may be lost.

    Args:
        url: where to connect to, ``ws://`` or ``wss://``.
        schema: makes records of messages (text as UTF-8).
        subscribe: what to say first on each connection: one message or several.
        headers: sent with each connection; a value may be a callable that is asked each time.
        token: sent as ``Authorization: Bearer``; the same.
        heartbeat: how often to ask whether the server is there; if it does not answer for as long, the
            connection is given up.
        max_retries: how often in a row to connect again when the connection is gone; 0: the stream ends
            when the server closes it properly. Negative: for ever.
        bad_records: what becomes of messages that are no records.
        longest_message: in bytes; a longer one ends the connection.
    """

    def __init__(  # noqa: PLR0913  (each of them names itself)
        self,
        url: str,
        schema: DeserializationSchema | None = None,
        *,
        subscribe: str | bytes | Sequence[str | bytes] = (),
        headers: Mapping[str, HeaderValue] | None = None,
        token: HeaderValue | None = None,
        heartbeat: DurationLike = Duration.of_seconds(20),  # noqa: B008  (immutable)
        max_retries: int = 5,
        bad_records: BadRecords = BadRecords.FAIL,
        longest_message: int = _LONGEST_MESSAGE,
    ) -> None:
        endpoint = Endpoint(url, ("ws", "wss"), "websocket source", dict(headers or {}), token)
        if schema is not None and not isinstance(schema, DeserializationSchema):
            raise TypeError(
                f"websocket source: the schema is {schema!r}; expected a DeserializationSchema"
            )
        self.schema = schema or SimpleStringSchema()
        self.sockets = web_sockets(
            endpoint, to_millis(heartbeat) / 1000, longest_message, subscribe
        )
        self.max_retries = max_retries
        self.bad_records = bad_records

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [LiveSplit()]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _WebSocketReader(self, splits, context)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        return self.schema.get_produced_type()

    def get_forced_parallelism(self) -> int | None:
        return 1


class _WebSocketReader(LiveReader):
    def __init__(
        self, source: WebSocketSource, splits: list[LiveSplit], context: SourceReaderContext
    ) -> None:
        super().__init__(splits, context, source.schema, source.bad_records)
        self._source = source
        self._connection: Any = None

    def origin(self, number: int) -> str:
        return f"websocket {self._source.sockets.endpoint} message {number}"

    def receive(self, feed: Feed[list[bytes]]) -> None:
        sockets, failures = self._source.sockets, 0
        while feed.is_wanted:
            try:
                connection = self._connection = sockets.connect()
                with closing(connection):
                    came, why = self._receive_once(connection, feed)
            except OSError as error:
                came, why = False, error
            failures = 1 if came else failures + 1
            if not feed.is_wanted:
                return
            if 0 <= self._source.max_retries < failures:
                if why is None:
                    return
                raise sockets.gone(failures, why)
            log.info("connection is gone url=%s why=%s", sockets.endpoint, why or "closed")
            feed.pause(sockets.backoff.delay(failures - 1))

    def interrupt(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _receive_once(
        self, connection: Any, feed: Feed[list[bytes]]
    ) -> tuple[bool, Exception | None]:
        """Read one connection to its end; whether anything came, and what broke it, if it broke."""
        came = False
        run: list[bytes] = []
        try:
            while feed.is_wanted:
                run.append(_bytes(connection.recv()))
                came = True
                self._gather(connection, run)
                if not feed.put(run, len(run)):
                    break
                run = []
        except Exception as error:
            if run:
                feed.put(run, len(run))
            if not is_closed(error):
                raise
            return came, None if is_proper_end(error) else error
        return came, None

    @staticmethod
    def _gather(connection: Any, run: list[bytes]) -> None:
        """Add what is there already, without waiting."""
        while len(run) < _MOST_AT_ONCE:
            try:
                run.append(_bytes(connection.recv(timeout=0)))
            except TimeoutError:
                return


def _bytes(message: str | bytes) -> bytes:
    return message.encode() if isinstance(message, str) else message
