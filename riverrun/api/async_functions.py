"""Functions that wait for something outside without holding up the stream."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from riverrun.api.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from riverrun.api.function import Function
from riverrun.core.time import DurationLike

__all__ = [
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """One record in, any number out, through a coroutine.

    ``open`` and ``close`` are called in the task's own thread, before the first call and after the
    event loop has stopped.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """What becomes of ``value``; many calls are under way at once, all on one event loop.

        A call that takes too long, or whose job ends, is cancelled.
        """

    def timeout(self, value: IN) -> list[OUT]:
        """What stands for a call that took too long; raises by default."""
        raise TimeoutError(f"the asynchronous call for {value!r} took longer than its timeout")


@dataclass(frozen=True)
class AsyncFunctionDescriptor:
    """An asynchronous function and how it is called."""

    class OutputMode(Enum):
        """In which order results come out."""

        ORDERED = 0
        UNORDERED = 1

    async_function: AsyncFunction[Any, Any]
    timeout: DurationLike
    capacity: int
    async_retry_strategy: AsyncRetryStrategy[Any]
    output_mode: OutputMode
