"""Asynchronous calls: records wait for their results in a queue, and the stream goes on meanwhile.

process    into the queue; as many as there is room for become calls, the rest is the backlog
run_due    outcomes into the queue; what may leave it goes on, and its room to the backlog
snapshot   the records in the queue, which are called again after a restart
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, Final

from riverrun.api.runtime_context import StateNotAvailable
from riverrun.core.errors import ProgramError
from riverrun.graph.specs import AsyncWaitSpec
from riverrun.runtime.async_calls import AsyncCalls, results_of
from riverrun.runtime.async_queue import (
    AsyncQueue,
    Element,
    Entry,
    OrderedQueue,
    TimeMark,
    UnorderedQueue,
)
from riverrun.runtime.emit import Emit, TimeOutput
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.system_state import CALLS

_AT_ONCE: Final = 0


class AsyncWaitOperator(FunctionOperator):
    """Calls ``async_invoke`` for each record, ``capacity`` of them at once."""

    passes_time: ClassVar[bool] = False

    def __init__(self, spec: AsyncWaitSpec) -> None:
        super().__init__(spec.fn)
        self._spec = spec
        self._queue: AsyncQueue = OrderedQueue() if spec.ordered else UnorderedQueue()
        self._backlog: deque[Entry] = deque()
        """Those in the queue that are not called yet."""
        self._room = spec.capacity
        """How many more may be called before others leave the queue."""
        self._calls: AsyncCalls | None = None

    def open(self, context: OperatorContext) -> None:
        try:
            super().open(context)
        except StateNotAvailable as error:
            raise ProgramError(
                f"{error.method}: {error.owner} asked for the keyed state {error.state!r}, and "
                f"asynchronous functions have none, as calls for many keys are under way at once; use "
                f"state in a process function before or after it"
            ) from error
        self._time: TimeOutput = context.time_output
        self._emit = context.emit
        self._calls = AsyncCalls(
            context.name,
            self._spec.fn,
            timeout_ms=self._spec.timeout_ms,
            retry=self._spec.retry,
            wake=context.wake,
        )
        self._calls.start()
        for value, timestamp in context.states.restored_items(CALLS):
            self._put(value, timestamp)
        context.states.provide(CALLS, self._records)
        self._call_next(self._calls)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        del emit
        put = self._put
        if timestamps is None:
            for value in values:
                put(value, None)
        else:
            for value, timestamp in zip(values, timestamps, strict=True):
                put(value, timestamp)
        self._call_next(self._opened())

    def advance(self, watermark: int, emit: Emit) -> None:
        self._queue.mark(TimeMark(watermark=watermark))
        self._send(self._leaving(), emit)

    def status(self, *, idle: bool) -> None:
        self._queue.mark(TimeMark(idle=idle))
        self._send(self._leaving(), self._emit)

    def due_at(self) -> int | None:
        return _AT_ONCE if self._calls is not None and self._calls.waiting else None

    def run_due(self, now: int, emit: Emit) -> None:
        del now
        calls = self._opened()
        for entry, made, trouble in calls.take():
            self._queue.complete(entry, made if trouble is None else self._instead(entry))
        leaving = self._leaving()
        self._call_next(calls)
        self._send(leaving, emit)

    @property
    def accepting(self) -> bool:
        return self._room > 0

    @property
    def drained(self) -> bool:
        return self._queue.is_empty

    @property
    def awaiting(self) -> bool:
        return not self._queue.is_empty

    def close(self) -> None:
        try:
            if self._calls is not None:
                self._calls.close()
        finally:
            super().close()

    def _opened(self) -> AsyncCalls:
        assert self._calls is not None  # noqa: S101  (the chain opens before it processes)
        return self._calls

    def _records(self) -> list[tuple[Any, int | None]]:
        """What the next attempt has to call again."""
        return [(entry.value, entry.timestamp) for entry in self._queue.entries()]

    def _put(self, value: Any, timestamp: int | None) -> None:
        entry = Entry(value, timestamp)
        self._queue.put(entry)
        self._backlog.append(entry)

    def _leaving(self) -> list[Element]:
        """What may leave the queue, and makes room there."""
        leaving = self._queue.take()
        self._room += sum(isinstance(element, Entry) for element in leaving)
        return leaving

    def _call_next(self, calls: AsyncCalls) -> None:
        number = min(self._room, len(self._backlog))
        if number:
            self._room -= number
            next_one = self._backlog.popleft
            calls.submit([next_one() for _ in range(number)])

    def _instead(self, entry: Entry) -> list[Any]:
        """What stands for a call that took too long; here, as it is the user's code."""
        value = entry.value
        return results_of(self._spec.fn, "timeout", self._spec.fn.timeout(value))

    def _send(self, leaving: list[Element], emit: Emit) -> None:
        """Send on what left the queue: as few runs as there are marks, or changes between them."""
        values: list[Any] = []
        times: list[int] = []
        timed = False
        for element in leaving:
            if isinstance(element, TimeMark):
                if values:
                    emit(values, times if timed else None)
                    values, times = [], []
                self._pass_on(element)
                continue
            made, timestamp = element.made, element.timestamp
            if not made:
                continue
            if values and timed is (timestamp is None):
                emit(values, times if timed else None)
                values, times = [], []
            timed = timestamp is not None
            values += made
            if timestamp is not None:
                times += [timestamp] * len(made)
        if values:
            emit(values, times if timed else None)

    def _pass_on(self, mark: TimeMark) -> None:
        # Who is active again must be so before its time counts; who falls idle says its time first.
        if mark.idle is False:
            self._time.status(idle=False)
        if mark.watermark is not None:
            self._time.watermark(mark.watermark)
        if mark.idle:
            self._time.status(idle=True)
