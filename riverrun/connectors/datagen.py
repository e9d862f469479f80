"""A source that makes records from their index, at full speed or at a given rate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from riverrun.api.functions import Function
from riverrun.api.resolve import lifecycle
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.connectors.index_ranges import IndexReader, IndexSplit, strided_splits
from riverrun.connectors.rate_limits import RateLimiter, RateLimiterStrategy
from riverrun.serde.infer import return_type_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["DataGeneratorSource", "GeneratorFunction"]


class GeneratorFunction(Function):
    """Makes the record with a given index; has ``open`` and ``close``."""

    @abstractmethod
    def map(self, value: int) -> Any:
        """The record with index ``value``; always the same one for the same index."""


class DataGeneratorSource(Source[Any]):
    """The records ``generator(0)``, ``generator(1)``, ... up to ``count`` (``None``: for ever).

    Subtask ``s`` of ``p`` makes the indices ``s``, ``s + p``, ``s + 2p`` ..., so that all advance
    together, and so that a job that goes on after a failure makes the same records again.

    Args:
        generator: makes the record with a given index.
        count: how many records there are; None: no end.
        rate_per_second: how many records all subtasks together make a second; time lost to back
            pressure is caught up for one second at most. None: full speed.
        output_type: the type of the records; the generator's annotation, if not given.
        rate_limiter_strategy: another way to say how fast, such as per checkpoint.
    """

    def __init__(
        self,
        generator: GeneratorFunction | Callable[[int], Any],
        count: int | None = None,
        rate_per_second: float | None = None,
        output_type: TypeInformation | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
    ) -> None:
        if not isinstance(generator, GeneratorFunction) and not callable(generator):
            raise TypeError(
                f"data generator: the generator is {generator!r}; expected a GeneratorFunction or "
                f"a callable of an index"
            )
        if count is not None and count < 0:
            raise ValueError(f"data generator: the count is {count}; expected 0 or more, or None")
        if rate_per_second is not None and rate_per_second <= 0:
            raise ValueError(
                f"data generator: the rate is {rate_per_second} records/s; expected more than 0, "
                f"or None for full speed"
            )
        self.generator = generator
        self.count = count
        self.rate_per_second = rate_per_second
        self.output_type = output_type
        self.rate_limiter_strategy = _strategy(rate_per_second, rate_limiter_strategy)

    def create_splits(self, parallelism: int) -> list[Any]:
        return strided_splits(self.count, parallelism)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return GeneratorReader(self, splits, context)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.count is None else Boundedness.BOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        if self.output_type is not None:
            return self.output_type
        return return_type_of(_generate(self.generator))


class GeneratorReader(IndexReader[Any]):
    """Makes records when they are due."""

    def __init__(
        self, source: DataGeneratorSource, splits: list[IndexSplit], context: SourceReaderContext
    ) -> None:
        super().__init__(splits)
        self._context = context
        self._function = lifecycle(source.generator)
        self._generate = _generate(source.generator)
        # A split of step n is one of n that share the rate, wherever it is read.
        share = sum(1.0 / split.step for split in splits)
        strategy = source.rate_limiter_strategy
        self._limiter: RateLimiter | None = None
        if strategy is not None and share:
            self._limiter = strategy.create_rate_limiter(share, context.clock)

    def open(self) -> None:
        if self._function is not None:
            self._function.open(self._context.runtime_context())

    def poll(self, limit: int) -> Polled:
        limiter = self._limiter
        if limiter is None or not self._splits:
            return super().poll(limit)
        due = limiter.due(limit)
        polled = super().poll(due) if due else Polled()
        limiter.spend(len(polled.values))
        if polled.status is SourceStatus.MORE_AVAILABLE and due < limit:
            polled.status = SourceStatus.NOTHING_AVAILABLE
            polled.wait_ms = limiter.wait_ms()
        return polled

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        del checkpoint
        if self._limiter is not None:
            self._limiter.notify_checkpoint_complete()
            self._context.wake()

    def make(self, indices: range) -> list[Any]:
        return list(map(self._generate, indices))

    def close(self) -> None:
        if self._function is not None:
            self._function.close()


def _generate(generator: GeneratorFunction | Callable[[int], Any]) -> Callable[[int], Any]:
    return generator.map if isinstance(generator, GeneratorFunction) else generator


def _strategy(
    rate_per_second: float | None, strategy: RateLimiterStrategy | None
) -> RateLimiterStrategy | None:
    if strategy is not None and not isinstance(strategy, RateLimiterStrategy):
        raise TypeError(
            f"data generator: the rate limiter strategy is {strategy!r}; expected a "
            f"RateLimiterStrategy, such as RateLimiterStrategy.per_second(100)"
        )
    if strategy is not None and rate_per_second is not None:
        raise ValueError(
            f"data generator: has a rate of {rate_per_second!r} records/s and a rate limiter "
            f"strategy; expected one of them"
        )
    return strategy if rate_per_second is None else RateLimiterStrategy.per_second(rate_per_second)
