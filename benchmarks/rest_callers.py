"""Asks a REST interface at a fixed rate, for ``benchmarks.rest_load``: prints how long each request waited.

Standard library only: it starts at once and takes little from those whom it measures.
"""

import asyncio
import json
import random
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

_CONNECTIONS: Final = 16
_TICK_S: Final = 0.002


class Caller(asyncio.Protocol):
    """One connection: requests go one after another, each as soon as the one before is answered."""

    def __init__(self, waits: list[float], wrong: list[bytes]) -> None:
        self._waits = waits
        self._wrong = wrong
        self._due: deque[tuple[float, bytes]] = deque()
        self._asked: float | None = None
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        self._transport: Any = transport

    def ask(self, due: float, request: bytes) -> None:
        """Send a request now, or when it is its turn."""
        self._due.append((due, request))
        self._next()

    def data_received(self, data: bytes) -> None:
        """An answer, or a part of one."""
        self._heard += data
        head, found, body = self._heard.partition(b"\r\n\r\n")
        if not found or self._asked is None:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._waits.append(time.monotonic() - self._asked)
        if not head.startswith(b"HTTP/1.1 200"):
            self._wrong.append(head)
        self._heard, self._asked = b"", None
        self._next()

    def _next(self) -> None:
        if self._asked is None and self._due:
            self._asked, request = self._due.popleft()
            self._transport.write(request)


async def call(host: str, port: int, paths: Sequence[str], rate: int, seconds: float) -> Any:
    """Ask ``rate`` times a second; how long each waited, in seconds, and answers that are none."""
    waits: list[float] = []
    wrong: list[bytes] = []
    loop = asyncio.get_running_loop()
    callers = [
        (await loop.create_connection(lambda: Caller(waits, wrong), host, port))[1]
        for _ in range(_CONNECTIONS)
    ]
    requests = [f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for path in paths]
    random.Random(7).shuffle(requests)
    start = time.monotonic()
    total, sent = int(rate * seconds), 0
    while sent < total:
        now = time.monotonic()
        while sent < total and (due := start + sent / rate) <= now:
            callers[sent % _CONNECTIONS].ask(due, requests[sent % len(requests)])
            sent += 1
        await asyncio.sleep(_TICK_S)
    while len(waits) < total and time.monotonic() < start + seconds + 30:  # noqa: ASYNC110 (counts)
        await asyncio.sleep(0.05)
    return {
        "start": start,
        "end": time.monotonic(),
        "waits": waits,
        "wrong": len(wrong),
        "cpu": time.process_time(),
    }


def main() -> None:
    """Arguments: address, paths as JSON, requests per second, seconds."""
    url, paths, rate, seconds = sys.argv[1:]
    host, _, port = url.rpartition("/")[2].partition(":")
    found = asyncio.run(call(host, int(port), json.loads(paths), int(rate), float(seconds)))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
