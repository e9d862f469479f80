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
from riverrun.core.clock import Clock
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
    together. With ``rate_per_second`` all subtasks together make that many records a second; time
    lost to back pressure is caught up for one second at most.
    """

    def __init__(
        self,
        generator: GeneratorFunction | Callable[[int], Any],
        count: int | None = None,
        rate_per_second: float | None = None,
        output_type: TypeInformation | None = None,
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
        self._allowance: Allowance | None = None
        if source.rate_per_second is not None:
            # A split of step n is one of n that share the rate, wherever it is read.
            rate = sum(source.rate_per_second / split.step for split in splits)
            self._allowance = Allowance(rate, context.clock) if rate else None

    def open(self) -> None:
        if self._function is not None:
            self._function.open(self._context.runtime_context())

    def poll(self, limit: int) -> Polled:
        allowance = self._allowance
        if allowance is None:
            return super().poll(limit)
        due = allowance.due(limit)
        polled = super().poll(due) if due else Polled()
        allowance.spend(len(polled.values))
        if polled.status is SourceStatus.MORE_AVAILABLE and due < limit:
            polled.status = SourceStatus.NOTHING_AVAILABLE
            polled.wait_ms = allowance.wait_ms()
        return polled

    def make(self, indices: range) -> list[Any]:
        return list(map(self._generate, indices))

    def close(self) -> None:
        if self._function is not None:
            self._function.close()


class Allowance:
    """How many records are due by now at a given rate; what is not taken within a second lapses."""

    def __init__(self, rate_per_second: float, clock: Clock) -> None:
        self._per_ms = rate_per_second / 1000.0
        self._most = max(rate_per_second, 1.0)
        self._clock = clock
        self._saved = 0.0
        self._at = clock.monotonic()

    def due(self, limit: int) -> int:
        """How many records may be made now, ``limit`` at most."""
        now = self._clock.monotonic()
        self._saved = min(self._saved + (now - self._at) * self._per_ms, self._most)
        self._at = now
        return min(int(self._saved), limit)

    def spend(self, count: int) -> None:
        """Take ``count`` records off what is due."""
        self._saved -= count

    def wait_ms(self) -> float:
        """How long until the next record is due; at least one millisecond, to be woken less often."""
        return max((1.0 - self._saved) / self._per_ms, 1.0)


def _generate(generator: GeneratorFunction | Callable[[int], Any]) -> Callable[[int], Any]:
    return generator.map if isinstance(generator, GeneratorFunction) else generator
