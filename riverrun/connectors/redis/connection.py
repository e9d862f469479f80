"""Where a Redis server is, and work with it that is done again when the connection breaks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.extras import require
from riverrun.connectors.base.shown_address import shown_address
from riverrun.core.errors import ExternalError

R = TypeVar("R")

log = logging.getLogger(__name__)

_SCHEMES: Final = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True, slots=True)
class RedisServer:
    """An address, such as ``redis://:password@host:6379/0``; shows no secrets.

    >>> str(RedisServer("redis://me:secret@example.org:6379/1", "doctest"))
    'redis://example.org:6379/1'
    """

    url: str = field(repr=False)
    who: str
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """More arguments of the client, such as ``{"ssl_ca_certs": "..."}``."""
    max_retries: int = 5
    """How often in a row to try again when the server is not there; negative: for ever."""
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        require("redis", extra="redis", user=self.who)
        if not isinstance(self.url, str) or not self.url.startswith(_SCHEMES):
            raise ValueError(
                f"{self.who}: the address is {str(self)!r}; expected one that begins with "
                f"redis://, rediss:// or unix://"
            )
        if str(self).endswith("://..."):
            raise ValueError(
                f"{self.who}: the address {str(self)!r} has signs in its password that mean something "
                f"else there; write / ? # and @ as %2F %3F %23 and %40, or give it as a setting"
            )

    def connect(self) -> RedisClient:
        """A client whose server was there and let it in.

        Raises:
            ExternalError: it was not, or did not.
        """
        client = RedisClient(self)
        try:
            client.run(lambda redis: redis.ping())
        except BaseException:
            client.close()
            raise
        return client

    def __str__(self) -> str:
        return shown_address(self.url)


class RedisClient:
    """A connection, made again when it breaks; for one thread at a time."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._redis = require("redis", extra="redis", user=server.who)
        # Who tries again is decided here, where it is known what that would mean.
        settings = {
            "socket_connect_timeout": 10,
            # A server that is there and says nothing must not hold a task up for ever.
            "socket_timeout": 30,
            "retry": None,
            **server.settings,
            # What comes is taken for bytes.
            "decode_responses": False,
        }
        self._client = self._redis.Redis.from_url(server.url, **settings)

    def run(
        self, work: Callable[[Any], R], pause: Callable[[float], bool] | None = None
    ) -> R | None:
        """What ``work`` gives with the client, after as many attempts as it takes and are allowed.

        ``work`` may have been done in part, or altogether, in an attempt that broke. ``pause`` waits
        between two attempts and says whether to go on; without going on the answer is None.

        Raises:
            ExternalError: the server stays away, lets nobody in, or refuses a command.
        """
        server, errors = self._server, self._redis.exceptions
        failures = 0
        while True:
            try:
                return work(self._client)
            except errors.WatchError:
                continue  # somebody else was faster: look at it again
            except errors.AuthenticationError as error:
                raise ExternalError(
                    f"{server.who}: {server} lets nobody in: {error}; check user and password"
                ) from None
            except (errors.ConnectionError, errors.TimeoutError) as error:
                failures += 1
                if 0 <= server.max_retries < failures:
                    raise ExternalError(
                        f"{server.who}: {server} was not there {failures} times in a row, at last: "
                        f"{error}; see whether the server is well, or allow more retries"
                    ) from error
                log.info("server is gone, trying again url=%s why=%s", server, error)
                self._client.connection_pool.disconnect()
                if not (pause or _sleep)(server.backoff.delay(failures - 1)):
                    return None
            except errors.ResponseError as error:
                raise ExternalError(
                    f"{server.who}: {server} refused a command: {error}; check what the keys hold, "
                    f"and what the user may do"
                ) from error

    def close(self) -> None:
        """Close the connection; from another thread, too, whose work breaks then."""
        self._client.connection_pool.disconnect()
        self._client.close()


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return True
