"""The wish to rescale a job, as its decision core sees it: one at a time, and the last one wins.

    wanted          until every task of an attempt runs
    checkpointed    a checkpoint was asked for; when it is complete the attempt is stopped
    wanted again    the next attempt is prepared with the new graph
    answered        every task of that attempt runs

An attempt that ends before, for whatever reason, shortens the way: the one that follows has the new graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from riverrun.cluster.job_master.job_events import (
    AnswerRescale,
    CheckpointForRescale,
    RescaleDecision,
)
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.rescaling import has_same_parallelism


@dataclass(slots=True)
class _Wanted:
    wish: int
    graph: JobGraph
    checkpoint: int | None = None
    """The number of the checkpoint that is awaited."""


class RescaleState:
    """Which graph the job has, and which one it shall have.

    Args:
        graph: of the first attempt.
    """

    def __init__(self, graph: JobGraph) -> None:
        self.graph = graph
        """Of the latest attempt."""
        self._wanted: _Wanted | None = None
        self._preparing: JobGraph | None = None
        self._numbers = count(1)

    @property
    def next_graph(self) -> JobGraph:
        """What the next attempt should have."""
        return self.graph if self._wanted is None else self._wanted.graph

    @property
    def changes(self) -> bool:
        """Whether the next attempt should have another graph than the latest."""
        return not has_same_parallelism(self.next_graph, self.graph)

    def want(self, wish: int, graph: JobGraph) -> Iterator[RescaleDecision]:
        """Somebody wants ``graph``."""
        before = self._wanted
        yield from self.fail("another rescale was asked for since")
        # One that is on its way serves whatever comes after it.
        checkpoint = None if before is None else before.checkpoint
        self._wanted = _Wanted(wish, graph, checkpoint)

    def fail(self, reason: str) -> Iterator[RescaleDecision]:
        """The job keeps its graph, because of ``reason``; nothing happens if nobody wants another one."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            yield AnswerRescale(wanted.wish, reason)

    def attempt_runs(self) -> Iterator[RescaleDecision]:
        """Every task of the attempt runs; said as often as one likes."""
        wanted = self._wanted
        if wanted is None or wanted.checkpoint is not None:
            return
        if self.changes:
            wanted.checkpoint = next(self._numbers)
            yield CheckpointForRescale(wanted.checkpoint)
        else:
            self._wanted = None
            yield AnswerRescale(wanted.wish, None)

    def checkpointed(self, number: int) -> bool:
        """The checkpoint has an outcome; whether somebody waits for it."""
        if self._wanted is None or self._wanted.checkpoint != number:
            return False
        self._wanted.checkpoint = None
        return True

    def prepare(self) -> None:
        """An attempt with ``next_graph`` is being prepared."""
        self._preparing = self.next_graph

    def prepared(self, graph: JobGraph | None, refused: str | None) -> Iterator[RescaleDecision]:
        """The attempt is there, with ``graph``, or else with what was asked for.

        Whoever asked for it hears why it was ``refused``; who asked for another one since has to wait.
        """
        asked, self._preparing = self._preparing, None
        self.graph = graph or asked or self.graph
        if refused is not None and self._wanted is not None and self._wanted.graph is asked:
            yield from self.fail(refused)
