"""Nexmark's events as streams of riverrun: as records, or as columns."""

from typing import Any, Final

from benchmarks.nexmark.events import time_of
from benchmarks.nexmark.generator import COLUMNS, RATE, Generator
from riverrun import (
    BatchGeneratorSource,
    DataStream,
    Duration,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from riverrun.api.source import SourceReader, SourceReaderContext
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorReader

OUT_OF_ORDER: Final = Duration.of_seconds(4)
"""By how much watermarks trail, as in Flink's Nexmark; the events themselves come in order."""


class EventSource(DataGeneratorSource):
    """The first ``count`` events, made a run at a time."""

    def __init__(
        self, count: int | None, rate: int = RATE, rate_per_second: float | None = None
    ) -> None:
        self.events = Generator(rate)
        super().__init__(self.events.event, count, rate_per_second)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        """A reader that calls the generator once for all events of a run."""
        return _EventReader(self, splits, context)


class _EventReader(GeneratorReader):
    def __init__(
        self, source: EventSource, splits: list[Any], context: SourceReaderContext
    ) -> None:
        super().__init__(source, splits, context)
        self._events = source.events

    def make(self, indices: range) -> list[Any]:
        return self._events.events(indices)


def event_stream(env: StreamExecutionEnvironment, count: int, rate: int = RATE) -> DataStream:
    """The first ``count`` events as records, with event times."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDER)
    return env.from_source(
        EventSource(count, rate), strategy.with_timestamp_assigner(time_of), "events"
    )


def column_stream(env: StreamExecutionEnvironment, count: int, rate: int = RATE) -> DataStream:
    """The same events as columns: only those that the queries on columns read."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDER)
    source = BatchGeneratorSource(Generator(rate).columns, COLUMNS, count)
    return env.from_source(source, strategy.with_timestamp_column("time"), "events")
