"""Who has been silent for too long: pure, the times are given in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")


class HeartbeatWatch(Generic[K]):
    """Looks at regular intervals at when each peer was last heard.

    A watcher that was itself held up (a busy interpreter, a suspended machine) has not listened, so
    it blames nobody for that time: everybody's silence then starts again.

    >>> watch = HeartbeatWatch(interval_ms=10, timeout_ms=30, now=0.0)
    >>> [watch.silent({"a": 0.0, "b": 25.0}, now) for now in (10.0, 20.0, 30.0, 40.0)]
    [{}, {}, {}, {'a': 40.0}]
    >>> watch.silent({"b": 25.0}, 500.0), watch.next_look
    ({}, 510.0)
    """

    def __init__(self, interval_ms: float, timeout_ms: float, now: float) -> None:
        self._interval = interval_ms
        self._timeout = timeout_ms
        self._listening_since = now
        self.next_look = now + interval_ms

    def silent(self, last_heard: Mapping[K, float], now: float) -> dict[K, float]:
        """For how long each peer has been silent, of those beyond the timeout; none before it is time."""
        if now < self.next_look:
            return {}
        if now - self.next_look > self._interval:
            self._listening_since = now
        self.next_look = now + self._interval
        silences = {
            peer: now - max(heard, self._listening_since) for peer, heard in last_heard.items()
        }
        return {peer: silence for peer, silence in silences.items() if silence > self._timeout}
