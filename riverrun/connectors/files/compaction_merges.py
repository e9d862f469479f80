"""Compaction inside a writer: closed parts wait, hidden, until they are merged; only the result is committed.

What waits is state of the writer. A merge runs in a thread of its own, and its result is handed over with
the first checkpoint after its end, together with the order to remove what was merged. A merge that a
failure interrupts is no part of any checkpoint: it is done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from riverrun.connectors.files.compaction_strategy import (
    FileCompactor,
    FileCompactStrategy,
    merges,
)
from riverrun.connectors.files.output_config import PartNames
from riverrun.connectors.files.output_parts import OutputFiles
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.sink_state import Discarded, HeldPart, Pending

__all__ = ["Compaction"]


@dataclass(slots=True)
class _Merge:
    inputs: list[HeldPart]
    result: Future[Pending]


class Compaction:
    """The parts of one writer that wait to be merged; called from the task thread only."""

    def __init__(
        self,
        strategy: FileCompactStrategy,
        compactor: FileCompactor,
        outputs: OutputFiles,
        store: FileStore,
        names: PartNames,
    ) -> None:
        self._strategy = strategy
        self._compactor = compactor
        self._outputs = outputs
        self._store = store
        self._names = names
        self._waiting: list[HeldPart] = []
        self._merging: list[_Merge] = []
        self._pool: ThreadPoolExecutor | None = None

    def restore(self, held: HeldPart) -> None:
        """Go on with a part that waited when a checkpoint was taken."""
        self._waiting.append(self._outputs.adopt(held, self._names.next()))

    def add(self, bucket: str, pending: Pending) -> None:
        """Let a part that was just closed wait."""
        self._waiting.append(self._outputs.hold(bucket, pending))

    def prepare(self, *, ended: bool) -> list[Any]:
        """What to commit with the checkpoint that is being taken; with ``ended`` everything."""
        self._waiting = [replace(each, waited=each.waited + 1) for each in self._waiting]
        prepared = self._finished(wait=ended)
        for inputs in self._due(everything=ended):
            self._waiting = [each for each in self._waiting if each not in inputs]
            prepared += self._begin(inputs)
        if ended:
            prepared += self._finished(wait=True)
        return prepared

    def state(self) -> list[HeldPart]:
        """The parts that are not part of what ``prepare`` gave."""
        merging = [each for merge in self._merging for each in merge.inputs]
        return [*self._waiting, *merging]

    def close(self) -> list[Pending]:
        """Begin no more merges, and wait for those that run; the results, which no checkpoint knows."""
        if self._pool is None:
            return []
        self._pool.shutdown(cancel_futures=True)
        ended = [merge.result for merge in self._merging if not merge.result.cancelled()]
        return [result.result() for result in ended if result.exception() is None]

    def _due(self, *, everything: bool) -> Iterator[list[HeldPart]]:
        by_bucket: dict[str, list[HeldPart]] = {}
        for each in self._waiting:
            by_bucket.setdefault(each.bucket, []).append(each)
        for held in by_bucket.values():
            if everything or is_due(self._strategy, held):
                yield from [held] if merges(self._compactor) else [[each] for each in held]

    def _begin(self, inputs: list[HeldPart]) -> list[Any]:
        name = self._names.next("compacted-")
        if len(inputs) == 1:
            promoted = self._outputs.promote(inputs[0], name)
            if promoted is not None:
                return [promoted]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._strategy.num_threads, "riverrun-compaction")
        self._merging.append(_Merge(inputs, self._pool.submit(self._merge, inputs, name)))
        return []

    def _finished(self, *, wait: bool) -> list[Any]:
        prepared: list[Any] = []
        running = []
        for merge in self._merging:
            if wait or merge.result.done():
                prepared += [
                    merge.result.result(),
                    Discarded(tuple(each.staged for each in merge.inputs)),
                ]
            else:
                running.append(merge)
        self._merging = running
        return prepared

    def _merge(self, inputs: Sequence[HeldPart], name: str) -> Pending:
        part = self._outputs.open(inputs[0].bucket, name)
        try:
            self._compactor.compact(self._opened(inputs), part)
            return part.finish()
        except BaseException:
            part.discard()
            raise

    def _opened(self, inputs: Sequence[HeldPart]) -> Iterable[Any]:
        for each in inputs:
            with self._store.open(each.staged) as file:
                yield file


def is_due(strategy: FileCompactStrategy, held: Sequence[HeldPart]) -> bool:
    """Whether the parts of a bucket have waited for long enough, or are large enough.

    >>> strategy = FileCompactStrategy(num_checkpoints=2, size_threshold=100)
    >>> is_due(strategy, [HeldPart("", "a", 60, waited=1)])
    False
    >>> is_due(strategy, [HeldPart("", "a", 60, waited=1), HeldPart("", "b", 40)])
    True
    """
    checkpoints, size = strategy.num_checkpoints, strategy.size_threshold
    waited = max((each.waited for each in held), default=0)
    return (checkpoints is not None and waited >= checkpoints) or (
        size is not None and sum(each.size for each in held) >= size
    )
