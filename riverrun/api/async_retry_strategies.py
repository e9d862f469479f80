"""When to make an asynchronous call again: which outcomes deserve it, how often, after what pause.

A strategy is asked with the number of tries so far and keeps nothing of the answer, so that one object
serves all calls that are under way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar

__all__ = [
    "NO_RETRY_STRATEGY",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "ExponentialBackoffDelayRetryStrategyBuilder",
    "FixedDelayRetryStrategy",
    "FixedDelayRetryStrategyBuilder",
    "NoRetryStrategy",
    "RetryPredicate",
]

OUT = TypeVar("OUT")
ResultPredicate: TypeAlias = Callable[[list[OUT]], bool]
ExceptionPredicate: TypeAlias = Callable[[Exception], bool]


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

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """One try only."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[Any] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to ``max_attempts`` more tries, always after the same pause."""
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[Any] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to ``max_attempts`` more tries, each pause ``multiplier`` times the one before."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Two predicates side by side; either may be missing."""

    def __init__(
        self,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate[OUT] | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """One try only."""

    def can_retry(self, current_attempts: int) -> bool:
        del current_attempts
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        del current_attempts
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


class _Limited(AsyncRetryStrategy[OUT]):
    """A strategy with a most of tries and with predicates."""

    def __init__(
        self,
        max_attempts: int,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        _check_positive("max_attempts", max_attempts)
        self._max_attempts = max_attempts
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


class FixedDelayRetryStrategy(_Limited[OUT]):
    """Up to ``max_attempts`` more tries, always after the same pause.

    >>> strategy = FixedDelayRetryStrategy(2, 50, None, lambda error: True)
    >>> [strategy.can_retry(tries) for tries in (1, 2, 3)]
    [True, True, False]
    """

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        _check_positive("backoff_time_millis", backoff_time_millis)
        self._backoff_time_millis = backoff_time_millis

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        del current_attempts
        return self._backoff_time_millis


class ExponentialBackoffDelayRetryStrategy(_Limited[OUT]):
    """Up to ``max_attempts`` more tries, each pause ``multiplier`` times the one before.

    >>> strategy = ExponentialBackoffDelayRetryStrategy(5, 100, 500, 2.0, None, lambda error: True)
    >>> [strategy.get_backoff_time_millis(tries) for tries in (1, 2, 3, 4, 5)]
    [100, 200, 400, 500, 500]
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        _check_positive("initial_delay", initial_delay)
        _check_positive("max_retry_delay", max_retry_delay)
        _check_positive("multiplier", multiplier)
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        delay = self._initial_delay
        for _ in range(current_attempts - 1):
            longer = int(min(delay * self._multiplier, self._max_retry_delay))
            if longer == delay:
                break
            delay = longer
        return delay


class _Builder(Generic[OUT]):
    """Gathers predicates."""

    def __init__(self) -> None:
        self._result_predicate: ResultPredicate[OUT] | None = None
        self._exception_predicate: ExceptionPredicate | None = None

    def if_result(self, result_predicate: ResultPredicate[OUT]) -> Self:
        """Try again when ``result_predicate`` is true of the list that came."""
        self._result_predicate = result_predicate
        return self

    def if_exception(self, exception_predicate: ExceptionPredicate) -> Self:
        """Try again when ``exception_predicate`` is true of the exception that came."""
        self._exception_predicate = exception_predicate
        return self


class FixedDelayRetryStrategyBuilder(_Builder[OUT]):
    """Builds a FixedDelayRetryStrategy by Java's names.

    >>> builder = FixedDelayRetryStrategyBuilder(3, 100).if_exception(lambda error: True)
    >>> builder.build().get_backoff_time_millis(1)
    100
    """

    def __init__(self, max_attempts: int, backoff_time_millis: int) -> None:
        super().__init__()
        self._max_attempts, self._backoff_time_millis = max_attempts, backoff_time_millis

    def build(self) -> FixedDelayRetryStrategy[OUT]:
        """The strategy."""
        return FixedDelayRetryStrategy(
            self._max_attempts,
            self._backoff_time_millis,
            self._result_predicate,
            self._exception_predicate,
        )


class ExponentialBackoffDelayRetryStrategyBuilder(_Builder[OUT]):
    """Builds an ExponentialBackoffDelayRetryStrategy by Java's names."""

    def __init__(
        self, max_attempts: int, initial_delay: int, max_retry_delay: int, multiplier: float
    ) -> None:
        super().__init__()
        self._max_attempts, self._multiplier = max_attempts, multiplier
        self._initial_delay, self._max_retry_delay = initial_delay, max_retry_delay

    def build(self) -> ExponentialBackoffDelayRetryStrategy[OUT]:
        """The strategy."""
        return ExponentialBackoffDelayRetryStrategy(
            self._max_attempts,
            self._initial_delay,
            self._max_retry_delay,
            self._multiplier,
            self._result_predicate,
            self._exception_predicate,
        )


def _check_positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"retry strategy: {name} is {value!r}; expected a number above 0")


NO_RETRY_STRATEGY: Final[AsyncRetryStrategy[Any]] = NoRetryStrategy()
"""One try only."""
