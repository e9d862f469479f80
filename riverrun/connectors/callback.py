"""A sink that calls a function of the process that submitted the job: for tests and live displays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riverrun.connectors.collect import CollectSink

__all__ = ["CallbackSink"]


class CallbackSink(CollectSink):
    """Calls ``fn(value)`` in the client's process for each record, in order per subtask.

    The calls come from a thread of the job's own. An exception that ``fn`` raises fails the job, and
    a slow ``fn`` slows the job down.
    """

    def __init__(self, fn: Callable[[Any], object]) -> None:
        if not callable(fn):
            raise TypeError(f"callback sink: got {fn!r}; expected a callable of one value")

        def call(subtask: int, values: Sequence[Any]) -> None:
            del subtask
            for value in values:
                fn(value)

        super().__init__(call)
