"""Coroutines of a user's function, run on an event loop in a thread of its own.

The task thread hands over records and takes outcomes; it never waits for the loop, but at the end. Both
directions are paid per batch: one call into the loop for a run of records, one wake-up of the task for all
outcomes of a round of the loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.async_retry_strategies import AsyncRetryStrategy
from riverrun.core.short_repr import short_repr
from riverrun.runtime.async_queue import Entry

log = logging.getLogger(__name__)

_PATIENCE_S: Final = 5.0
"""How long calls may take to end once they are cancelled."""


class TimedOut(Enum):
    """The call took longer than its timeout."""

    TIMED_OUT = auto()


Outcome: TypeAlias = tuple[Entry, list[Any], TimedOut | None]
"""A record, its results, and what to do about it if there are none."""


class AsyncCalls:
    """Calls of ``function`` that are under way; all methods are called from the task thread.

    Args:
        name: the operator's, for messages.
        function: whose ``async_invoke`` is called.
        timeout_ms: for all tries of one record together, by the loop's own clock; 0: none.
        retry: when to try again; ``None``: never.
        wake: called, in another thread, when there are outcomes to ``take``.
    """

    def __init__(
        self,
        name: str,
        function: AsyncFunction[Any, Any],
        *,
        timeout_ms: int,
        retry: AsyncRetryStrategy[Any] | None,
        wake: Callable[[], None],
    ) -> None:
        self._name = name
        self._function = function
        self._timeout_s = timeout_ms / 1000.0
        self._retry = retry
        self._wake = wake
        self._invoke = function.async_invoke if retry is None else self._tried
        if retry is not None:
            predicate = retry.get_retry_predicate()
            self._on_result = predicate.result_predicate() or _never
            self._on_error = predicate.exception_predicate() or _never
        self._outcomes: deque[Outcome | BaseException] = deque()
        self._announced = False
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._thread = threading.Thread(
            target=self._serve, name=f"riverrun-calls-{name}", daemon=True
        )
        self._stop = asyncio.Event()
        # Of the loop's thread alone:
        self._running: dict[Entry, tuple[asyncio.Task[None], float]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._leaving = False

    def start(self) -> None:
        """Start the loop."""
        self._thread.start()

    def submit(self, entries: list[Entry]) -> None:
        """Begin a call for each of these records."""
        self._loop.call_soon_threadsafe(self._begin, entries)

    @property
    def waiting(self) -> bool:
        """Whether there are outcomes to ``take``."""
        return bool(self._outcomes)

    def take(self) -> list[Outcome]:
        """All outcomes that came since, in the order in which they came.

        Raises the first failure of a call among them, as the call raised it.
        """
        self._announced = False
        taken: list[Outcome] = []
        outcomes = self._outcomes
        while outcomes:
            outcome = outcomes.popleft()
            if isinstance(outcome, BaseException):
                raise outcome
            taken.append(outcome)
        return taken

    def close(self) -> None:
        """Cancel all calls, and wait for them and for the loop to end."""
        if not self._thread.is_alive():
            self._runner.close()
            return
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            log.warning(
                "calls of operator %r go on although they were cancelled %.0f s ago; async_invoke must "
                "neither block the event loop nor swallow asyncio.CancelledError",
                self._name,
                _PATIENCE_S,
            )

    # in the loop's thread

    def _serve(self) -> None:
        try:
            with self._runner:
                try:
                    self._runner.run(self._stop.wait())
                finally:
                    self._leaving = True
        except BaseException as error:  # noqa: BLE001  (handed to the task thread)
            self._outcomes.append(error)
            self._wake()

    def _begin(self, entries: list[Entry]) -> None:
        create_task, running = self._loop.create_task, self._running
        deadline = self._loop.time() + self._timeout_s
        for entry in entries:
            running[entry] = (create_task(self._call(entry)), deadline)
        if self._timer is None and self._timeout_s > 0:
            self._timer = self._loop.call_at(deadline, self._expire, deadline)

    async def _call(self, entry: Entry) -> None:
        value = entry.value
        try:
            made = await self._invoke(value)
            if type(made) is not list:
                made = results_of(self._function, "async_invoke", made)
        except BaseException as error:  # noqa: BLE001  (handed to the task thread)
            self._end(entry, _told(error))
        else:
            self._end(entry, (entry, made, None))

    def _end(self, entry: Entry, outcome: Outcome | BaseException) -> None:
        # A call that timed out, or that the end of the job cut off, has nothing more to say.
        if self._running.pop(entry, None) is not None and not self._leaving:
            self._report(outcome)

    def _report(self, outcome: Outcome | BaseException) -> None:
        self._outcomes.append(outcome)
        if not self._announced:
            self._announced = True
            # After this round of the loop, so that one wake-up is for all that ended in it.
            self._loop.call_soon(self._wake)

    async def _tried(self, value: Any) -> Any:
        """What the first try gives that is not to be repeated."""
        retry = self._retry
        assert retry is not None  # noqa: S101  (asked by the constructor)
        tries = 1
        while True:
            try:
                made = await self._function.async_invoke(value)
            except Exception as error:
                if not (self._on_error(error) and retry.can_retry(tries)):
                    raise
            else:
                made = results_of(self._function, "async_invoke", made)
                if not (self._on_result(made) and retry.can_retry(tries)):
                    return made
            await asyncio.sleep(retry.get_backoff_time_millis(tries) / 1000.0)
            tries += 1

    def _expire(self, deadline: float) -> None:
        """Give up every call whose time is over; they stand in the order of their deadlines."""
        now = max(deadline, self._loop.time())
        late = []
        self._timer = None
        for entry, (_, its_deadline) in self._running.items():
            if its_deadline > now:
                self._timer = self._loop.call_at(its_deadline, self._expire, its_deadline)
                break
            late.append(entry)
        for entry in late:
            task, _ = self._running.pop(entry)
            task.cancel()
            self._report((entry, [], TimedOut.TIMED_OUT))


def results_of(function: AsyncFunction[Any, Any], method: str, made: Any) -> list[Any]:
    """What a call gave as a list; TypeError if it is no collection of records."""
    if isinstance(made, list):
        return made
    if isinstance(made, str | bytes) or not isinstance(made, Iterable):
        raise TypeError(
            f"{type(function).__name__}.{method} gave {short_repr(made)} of type "
            f"{type(made).__name__}; expected a list of the records that follow, [] for none"
        )
    return list(made)


def _told(error: BaseException) -> BaseException:
    """``error`` as the task thread may raise it; nobody but the user's code cancelled the call."""
    if not isinstance(error, asyncio.CancelledError):
        return error
    told = RuntimeError("the asynchronous call was cancelled by its own code")
    return told.with_traceback(error.__traceback__)


def _never(outcome: Any) -> bool:
    del outcome
    return False
