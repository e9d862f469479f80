"""Asynchronous calls on a stream: many records wait for the outside world at once."""

from __future__ import annotations

import inspect
from typing import Any, Final

from riverrun.api.async_functions import AsyncFunction, AsyncFunctionDescriptor
from riverrun.api.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    AsyncRetryStrategy,
    NoRetryStrategy,
)
from riverrun.core.time import DurationLike, to_millis
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.output_types import output_type_of
from riverrun.graph.specs import AsyncWaitSpec
from riverrun.serde.type_info import TypeInformation

__all__ = ["AsyncDataStream"]

_CAPACITY: Final = 100


class AsyncDataStream:
    """Applies an AsyncFunction to a stream.

    ``timeout`` is for all tries of one record together; a length of 0 means that there is none.
    ``capacity`` is how many records may be under way, or wait for others to come out before them; the
    operator reads no more input while so many are. On a keyed stream the function has no keyed state.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        capacity: int = _CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results come out as they come in, but never on the other side of a watermark."""
        return AsyncDataStream.unordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = _CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """As ``unordered_wait``; calls are made again as the strategy says."""
        mode = AsyncFunctionDescriptor.OutputMode.UNORDERED
        described = AsyncFunctionDescriptor(
            async_function, timeout, capacity, async_retry_strategy, mode
        )
        return _wait("unordered_wait", data_stream, described, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        capacity: int = _CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results come out in the order of their records."""
        return AsyncDataStream.ordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = _CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """As ``ordered_wait``; calls are made again as the strategy says."""
        mode = AsyncFunctionDescriptor.OutputMode.ORDERED
        described = AsyncFunctionDescriptor(
            async_function, timeout, capacity, async_retry_strategy, mode
        )
        return _wait("ordered_wait", data_stream, described, output_type)


def _wait(
    method: str,
    stream: DataStream,
    described: AsyncFunctionDescriptor,
    output_type: TypeInformation | None,
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise TypeError(f"{method}: got {stream!r}; expected a DataStream")
    spec = _spec(method, described)
    type_info = output_type_of(method, output_type, spec.fn.async_invoke, element=True)
    # Not the keyed stream's own way: without a key the operator has no keyed state to offer.
    return DataStream._then(  # noqa: SLF001
        stream, "async wait operator", spec, type_info, declared=output_type is not None
    )


def _spec(method: str, described: AsyncFunctionDescriptor) -> AsyncWaitSpec:
    fn, capacity = described.async_function, described.capacity
    _check_function(method, fn)
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
        raise ValueError(f"{method}: capacity is {capacity!r}; expected a whole number above 0")
    timeout_ms = to_millis(described.timeout)
    if timeout_ms < 0:
        raise ValueError(f"{method}: timeout is {timeout_ms} ms; expected 0 (none) or more")
    return AsyncWaitSpec(
        fn=fn,
        timeout_ms=timeout_ms,
        capacity=capacity,
        ordered=described.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED,
        retry=_checked_retry(method, described.async_retry_strategy, timeout_ms),
    )


def _check_function(method: str, fn: AsyncFunction[Any, Any]) -> None:
    if not isinstance(fn, AsyncFunction):
        raise TypeError(f"{method}: got {fn!r}; expected an AsyncFunction object")
    if not inspect.iscoroutinefunction(fn.async_invoke):
        raise TypeError(
            f"{method}: {type(fn).__name__}.async_invoke gives no coroutine; declare it as "
            f"'async def' without yield, and return a list"
        )


def _checked_retry(
    method: str, strategy: AsyncRetryStrategy[Any], timeout_ms: int
) -> AsyncRetryStrategy[Any] | None:
    """The strategy, or ``None`` when it never tries again."""
    if not isinstance(strategy, AsyncRetryStrategy):
        raise TypeError(f"{method}: got {strategy!r}; expected an AsyncRetryStrategy")
    if isinstance(strategy, NoRetryStrategy):
        return None
    if strategy.get_retry_predicate() is None:
        raise TypeError(
            f"{method}: get_retry_predicate of {type(strategy).__name__} gives None; "
            f"expected an AsyncRetryPredicate"
        )
    if timeout_ms == 0:
        raise ValueError(
            f"{method}: the timeout is 0 (none) although calls are made again; "
            f"give a timeout above 0, which is for all tries of a record together"
        )
    return strategy
