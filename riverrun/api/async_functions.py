"""Functions that wait for something outside without holding up the stream, and when to try again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from riverrun.api.function import Function

__all__ = ["AsyncFunction", "AsyncRetryPredicate", "AsyncRetryStrategy"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Which outcomes deserve another try."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Tells whether a result means "try again"; None: no result does."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Tells whether an exception means "try again"; None: no exception does."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often and after what pause a call is made again."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there may be another try after ``current_attempts``."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next try."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Which outcomes deserve another try."""


class AsyncFunction(Function, Generic[IN, OUT]):
    """One record in, any number out, through a coroutine."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """What becomes of ``value``; many calls are under way at once, all on one event loop."""

    def timeout(self, value: IN) -> list[OUT]:
        """What stands for a call that took too long; raises by default."""
        raise TimeoutError(f"the asynchronous call for {value!r} took longer than its timeout")
