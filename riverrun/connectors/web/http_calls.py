"""Requests that are made again when that may help, and told apart from those where it does not."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.extras import require
from riverrun.connectors.base.shown_address import shown_address
from riverrun.connectors.web.endpoint import Endpoint
from riverrun.core.errors import ExternalError

log = logging.getLogger(__name__)

_AGAIN: Final = frozenset({408, 425, 429})
_FIRST_REFUSAL: Final = 400
_FIRST_FAILURE: Final = 500
_TOLD: Final = 300
"""How much of an answer is told in a message."""
_LONGEST_WAIT_S: Final = 300.0


class HttpRefused(ExternalError):  # noqa: N818  (named after what it is)
    """A server answered that the request itself is wrong: trying again would not help."""

    def __init__(self, who: str, request: str, status: int, answer: str, advice: str) -> None:
        super().__init__(who, request, status, answer, advice)
        self.who, self.request, self.status = who, request, status
        self.answer, self.advice = answer, advice

    def __str__(self) -> str:
        said = f": {self.answer}" if self.answer else ""
        return f"{self.who}: {self.request} was answered with {self.status}{said}; {self.advice}"


@dataclass(frozen=True, slots=True)
class HttpCalls:
    """How requests are made: how long to wait for an answer, and how often to try again."""

    endpoint: Endpoint
    timeout_s: float
    max_retries: int
    """In a row; negative: for ever."""
    backoff: Backoff

    def connect(self) -> HttpConnection:
        """A client for one subtask."""
        return HttpConnection(self)


class HttpConnection:
    """Makes requests from one thread; holds connections open between them."""

    def __init__(self, calls: HttpCalls) -> None:
        self._calls = calls
        who = calls.endpoint.who
        self._httpx = require("httpx2", extra="http", user=who)
        self._client = self._httpx.Client(timeout=calls.timeout_s, verify=_certificates())

    def call(
        self,
        method: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        pause: Callable[[float], bool] | None = None,
    ) -> Any:
        """The answer to a request, once there is one that is not a failure of the server.

        ``pause`` waits between two attempts and says whether to go on; without going on the answer is None.

        Raises:
            HttpRefused: the request is wrong.
            ExternalError: there was no answer in all attempts.
        """
        wait = pause or _sleep
        failures = 0
        while True:
            answer, why = self._once(method, params, headers, content)
            if answer is not None and why is None:
                return answer
            failures += 1
            calls = self._calls
            if 0 <= calls.max_retries < failures:
                raise ExternalError(
                    f"{calls.endpoint.who}: {method} {calls.endpoint} failed {failures} times in a "
                    f"row, at last: {why}; see whether the server is well, or allow more retries"
                )
            delay = max(calls.backoff.delay(failures - 1), _asked_wait_s(answer))
            log.info(
                "request failed, trying again url=%s failures=%d why=%s",
                calls.endpoint,
                failures,
                why,
            )
            if not wait(delay):
                return None

    def close(self) -> None:
        """Close all connections; in the thread that makes the requests."""
        self._client.close()

    def _once(
        self,
        method: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        content: bytes | None,
    ) -> tuple[Any, str | None]:
        """An answer, and why it is none if it is none."""
        endpoint = self._calls.endpoint
        url = self._httpx.URL(endpoint.url)
        if params:
            url = url.copy_merge_params(dict(params))
        sent = {**endpoint.current_headers(), **(headers or {})}
        try:
            # With a body that would ask for another page instead, without the body.
            answer = self._client.request(
                method, url, headers=sent, content=content, follow_redirects=content is None
            )
        except self._httpx.UnsupportedProtocol as error:
            raise HttpRefused(
                endpoint.who, f"{method} {endpoint}", 0, str(error), "check the address"
            ) from error
        except self._httpx.TransportError as error:
            return None, f"{type(error).__name__} {error}".strip()
        status = answer.status_code
        if answer.has_redirect_location:
            raise ExternalError(
                f"{endpoint.who}: {method} {endpoint} was answered with {status}, which leads to "
                f"{shown_address(answer.headers['Location'])!r}, and what is sent is not sent there "
                f"unasked; give that address"
            )
        if status in _AGAIN or status >= _FIRST_FAILURE:
            return answer, f"the answer {status} {answer.reason_phrase}"
        if status >= _FIRST_REFUSAL:
            raise HttpRefused(
                endpoint.who,
                f"{method} {endpoint}",
                status,
                f"{answer.reason_phrase} {answer.text[:_TOLD]}".strip(),
                _ADVICE.get(status, "check what is sent"),
            )
        return answer, None


_ADVICE: Final = {
    401: "check the token or the headers",
    403: "check what the token may do",
    404: "check the address",
    405: "check the method and the address",
}


@lru_cache(maxsize=1)
def _certificates() -> Any:
    """Whom to trust; read once, it takes as long as many requests."""
    return require("httpx2", extra="http", user="http").create_ssl_context()


def _asked_wait_s(answer: Any) -> float:
    """How long the server wants to be left alone; of dates nothing is understood."""
    if answer is None:
        return 0.0
    try:
        asked = float(answer.headers.get("Retry-After", "0"))
    except ValueError:
        return 0.0
    return min(max(asked, 0.0), _LONGEST_WAIT_S)


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return True
