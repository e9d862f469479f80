"""Connections for messages: how they begin, how often again, and what it means when they end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.extras import require
from riverrun.connectors.web.endpoint import Endpoint
from riverrun.core.errors import ExternalError

log = logging.getLogger(__name__)

_CONNECT_S: Final = 10.0
_GOODBYE_S: Final = 1.0
_AHEAD: Final = 1024
"""How many messages may wait; while more do, heartbeats wait too."""
_FIRST_REFUSAL: Final = 400
_FIRST_FAILURE: Final = 500
_AGAIN: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class WebSockets:
    """How to connect: where, with what to say first, and how to notice that nobody is there."""

    endpoint: Endpoint
    heartbeat_s: float
    """How often to ask whether the server is there; one that does not answer for as long is gone."""
    longest_message: int
    first_messages: Sequence[str | bytes] = field(default=(), repr=False)
    backoff: Backoff = field(default_factory=Backoff)

    def connect(self) -> Any:
        """A connection on which the first messages were sent; whoever gets it closes it.

        Raises:
            ExternalError: the server refuses it: trying again would not help.
            OSError: there is none now.
        """
        websockets = require("websockets", extra="http", user=self.endpoint.who)
        client = require("websockets.sync.client", extra="http", user=self.endpoint.who)
        try:
            connection = client.connect(
                self.endpoint.url,
                additional_headers=self.endpoint.current_headers(),
                open_timeout=_CONNECT_S,
                close_timeout=_GOODBYE_S,
                ping_interval=self.heartbeat_s,
                ping_timeout=self.heartbeat_s,
                max_size=self.longest_message,
                max_queue=_AHEAD,
            ).__enter__()
        except websockets.InvalidStatus as error:
            status = error.response.status_code
            if _FIRST_REFUSAL <= status < _FIRST_FAILURE and status not in _AGAIN:
                raise ExternalError(
                    f"{self.endpoint.who}: {self.endpoint} refused the connection with {status}; "
                    f"check the address, the token and the headers"
                ) from None
            raise ConnectionError(f"the server answered {status}") from error
        except websockets.WebSocketException as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        try:
            for message in self.first_messages:
                connection.send(message)
        except websockets.ConnectionClosed as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        return connection

    def gone(self, failures: int, why: object) -> ExternalError:
        """What to raise after so many failures in a row."""
        return ExternalError(
            f"{self.endpoint.who}: {self.endpoint} was not there {failures} times in a row, at last: "
            f"{why}; see whether the server is well, or allow more retries"
        )


def web_sockets(
    endpoint: Endpoint, heartbeat_s: float, longest_message: int, first: Any = ()
) -> WebSockets:
    """The description of connections, checked."""
    require("websockets", extra="http", user=endpoint.who)
    if not heartbeat_s > 0:
        raise ValueError(
            f"{endpoint.who}: the heartbeat is {heartbeat_s!r} seconds; expected more than 0"
        )
    messages = [first] if isinstance(first, str | bytes) else list(first or ())
    for each in messages:
        if not isinstance(each, str | bytes):
            raise TypeError(
                f"{endpoint.who}: the first message is a {type(each).__name__}; expected str or bytes"
            )
    return WebSockets(endpoint, heartbeat_s, longest_message, tuple(messages))


def is_closed(error: Exception) -> bool:
    """Whether it says that a connection has ended."""
    websockets = require("websockets", extra="http", user="websocket")
    return isinstance(error, websockets.ConnectionClosed)


def is_proper_end(error: Exception) -> bool:
    """Whether it says that the other side closed the connection as it should."""
    websockets = require("websockets", extra="http", user="websocket")
    return isinstance(error, websockets.ConnectionClosedOK)
