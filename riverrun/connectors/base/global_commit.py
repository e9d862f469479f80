"""The last operator of a sink with a global committer: gathers what its writers prepared, and commits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riverrun.api.sink import (
    Committable,
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    SinkWriterContext,
)


class GlobalCommitSink(Sink[Any]):
    """Takes the committables of ``sink``'s writers as its records; runs at parallelism 1."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        del context
        return _Gatherer()

    def create_committer(self, context: SinkWriterContext) -> Committer:
        return _AtOnce(self._sink.create_global_committer(context))

    def client_handler(self) -> Callable[[int, Sequence[Any]], None] | None:
        return self._sink.client_handler()


class _Gatherer(SinkWriter[Any]):
    def __init__(self) -> None:
        self._gathered: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self._gathered.append(value)

    def prepare_commit(self) -> list[Any]:
        gathered, self._gathered = self._gathered, []
        return [gathered] if gathered else []


class _AtOnce(Committer):
    def __init__(self, committer: GlobalCommitter) -> None:
        self._committer = committer

    def commit(self, committables: Sequence[Committable]) -> None:
        for each in committables:
            self._committer.commit(each.checkpoint, each.value)

    def close(self) -> None:
        self._committer.close()
