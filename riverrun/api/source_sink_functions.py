"""The short forms of a source and a sink, written as functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

from riverrun.api.function import Function

__all__ = ["SinkContext", "SinkFunction", "SourceFunction"]


class SourceFunction(Function):
    """A source written as a generator; for ``env.add_source``.

    Its position is the number of values taken so far: after a restart ``run`` begins anew and the
    values of before are skipped, so it must give the same values in the same order.
    """

    @abstractmethod
    def run(self) -> Iterable[Any]:
        """The records, in order; called once in each subtask after ``open``."""


class SinkContext(Protocol):
    """What is known about the record at hand; valid during the call only."""

    def timestamp(self) -> int | None:
        """The record's event time, or None."""


class SinkFunction(Function):
    """A sink written as a function; for ``stream.add_sink``. It runs in the workers."""

    @abstractmethod
    def invoke(self, value: Any, context: SinkContext) -> None:
        """Write ``value``."""
