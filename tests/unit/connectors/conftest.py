"""Reading sources and writing to sinks as a task would, without one."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.api.source import Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.core.clock import ManualClock

MakeReader = Callable[..., SourceReader[Any]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def make_reader(clock: ManualClock) -> MakeReader:
    """``make_reader(source, subtask, parallelism)``: an open reader of its share of the splits."""

    def make(
        source: Source[Any],
        subtask: int = 0,
        parallelism: int = 1,
        splits: list[Any] | None = None,
    ) -> SourceReader[Any]:
        source = pickle.loads(pickle.dumps(source))
        if splits is None:
            splits = source.create_splits(parallelism)[subtask::parallelism]
        reader = source.create_reader(splits, SourceReaderContext(subtask, parallelism, clock))
        reader.open()
        return reader

    return make


def drain(reader: SourceReader[Any], limit: int = 3) -> list[Any]:
    """Everything the reader has; only for sources that never wait for the clock."""
    values: list[Any] = []
    while True:
        polled = reader.poll(limit)
        assert len(polled.values) <= limit
        values += polled.values
        if polled.status is SourceStatus.END_OF_INPUT:
            return values


class Client:
    """Keeps what sinks send to the client."""

    def __init__(self) -> None:
        self.runs: list[list[Any]] = []

    def send(self, values: Sequence[Any], commit: str | None = None) -> None:
        del commit
        self.runs.append(list(values))


@pytest.fixture
def client() -> Client:
    return Client()


MakeWriter = Callable[..., SinkWriter[Any]]


@pytest.fixture
def make_writer(client: Client) -> MakeWriter:
    """``make_writer(sink, subtask, parallelism)``: an open writer."""

    def make(sink: Sink[Any], subtask: int = 0, parallelism: int = 1) -> SinkWriter[Any]:
        writer = sink.create_writer(SinkWriterContext(subtask, parallelism, "Sink", client))
        writer.open()
        return writer

    return make
