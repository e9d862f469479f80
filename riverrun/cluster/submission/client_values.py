"""Values on their way to a client in another process: bytes that only the client opens.

The delivery's thread puts runs in and waits while there are too many; the client takes them in order
and says how far it came, so that an answer that was lost is given again. A client that has not asked
for a while is taken for gone: then runs go to ``forsaken``, and nobody waits for it. If it comes back,
it gets what comes from then on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from riverrun.core.clock import Clock, SystemClock


class ValueRun(msgspec.Struct, frozen=True, array_like=True):
    """A run of values of one operator's subtask; ``payload`` is the pickled sequence."""

    number: int
    operator: str
    subtask: int
    payload: bytes


class ClientValues:
    """The runs of one job that its client has not taken yet.

    Args:
        window_bytes: how much may wait.
        patience_ms: after how long without a question the client counts as gone.
        forsaken: gets (operator, subtask, payload) of every run once the client is gone.
        attached: whether there is a client at all.
        first: the number of the first run; higher than any that the client may have seen of this job.
        clock: for the patience.
    """

    def __init__(
        self,
        window_bytes: int,
        patience_ms: float,
        forsaken: Callable[[str, int, bytes], None],
        *,
        attached: bool = True,
        first: int = 1,
        clock: Clock | None = None,
    ) -> None:
        self._window_bytes = window_bytes
        self._patience_ms = patience_ms
        self._forsaken = forsaken
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._runs: deque[ValueRun] = deque()
        self._bytes = 0
        self._next = first
        self._ended = False
        self._has_client = attached
        self._asked_at = self._clock.monotonic()
        self._told_end = False
        self._wakers: list[Callable[[], None]] = []

    @property
    def has_client(self) -> bool:
        """Whether somebody takes the values."""
        with self._changed:
            return self._has_client

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        with self._changed:
            return self._ended

    @property
    def is_awaited(self) -> bool:
        """Whether a client has asked lately and does not know yet that it has everything."""
        with self._changed:
            self._look_for_client()
            return self._has_client and not self._told_end

    def put(self, operator: str, subtask: int, payload: bytes) -> None:
        """Hand over a run; waits while the client is behind by more than the window."""
        with self._changed:
            self._look_for_client()
            while self._has_client and self._bytes > self._window_bytes and not self._ended:
                self._changed.wait(self._remaining_s())
                self._look_for_client()
            if self._has_client:
                self._runs.append(ValueRun(self._next, operator, subtask, payload))
                self._next += 1
                self._bytes += len(payload)
                self._wake()
                return
            waiting = self._abandon()
        for run in waiting:
            self._forsaken(run.operator, run.subtask, run.payload)
        self._forsaken(operator, subtask, payload)

    def take(self, after: int, timeout_s: float, limit_bytes: int) -> tuple[list[ValueRun], bool]:
        """Runs behind number ``after``, and whether these are the last; waits for the first of them.

        Runs up to ``after`` are forgotten: the client has them.
        """
        with self._changed:
            self._asked_at = self._clock.monotonic()
            self._has_client = True
            while self._runs and self._runs[0].number <= after:
                self._bytes -= len(self._runs.popleft().payload)
            self._changed.notify_all()
            if timeout_s > 0 and not self._runs and not self._ended:
                self._changed.wait(timeout_s)
            self._asked_at = self._clock.monotonic()
            given: list[ValueRun] = []
            size = 0
            for run in self._runs:
                if given and size + len(run.payload) > limit_bytes:
                    break
                given.append(run)
                size += len(run.payload)
            last = self._ended and len(given) == len(self._runs)
            self._told_end = self._told_end or last
            return given, last

    @contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call ``wake`` whenever there may be more to take, in this block; it must return at once."""
        with self._changed:
            self._wakers.append(wake)
        try:
            yield
        finally:
            with self._changed:
                self._wakers.remove(wake)

    def end(self) -> None:
        """Nothing more comes."""
        with self._changed:
            self._ended = True
            self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        for wake in self._wakers:
            wake()

    def _remaining_s(self) -> float:
        return max(0.0, self._asked_at + self._patience_ms - self._clock.monotonic()) / 1000.0

    def _look_for_client(self) -> None:
        if self._clock.monotonic() - self._asked_at >= self._patience_ms:
            self._has_client = False

    def _abandon(self) -> list[ValueRun]:
        waiting = list(self._runs)
        self._runs.clear()
        self._bytes = 0
        return waiting
