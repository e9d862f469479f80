"""Rescales of a simulated run: when somebody asks for one, and for which parallelisms."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from riverrun.cluster.job_master.rescales import RescaleWish
from riverrun.graph.rescaling import RescaleRefused, is_free, parallelism_of
from riverrun.local.job import LocalJob
from riverrun.testing.simulation.faults import Extent
from riverrun.testing.simulation.variety import Variety


@dataclass(frozen=True, slots=True)
class RescaleStep:
    """Somebody asks for another parallelism."""

    at: int
    """At which step of the run, counted from 1."""
    level: int | None
    """For all vertices that the program leaves open; ``None``: each of them has its own."""
    seed: int
    """Draws the parallelism of each vertex."""
    most: int

    def __str__(self) -> str:
        what = "each vertex anew" if self.level is None else f"all to {self.level}"
        return f"rescale {what} (step {self.at}, drawn by {self.seed})"


def draw_rescales(rng: random.Random, variety: Variety, extent: Extent) -> tuple[RescaleStep, ...]:
    """What one run asks for, in order."""
    steps = []
    for _ in range(rng.randint(0, variety.rescales) if variety.rescales else 0):
        most = max(variety.rescaled_to)
        level = rng.choice((None, *variety.rescaled_to))
        at = rng.randint(1, max(2, extent.steps))
        steps.append(RescaleStep(at, level, rng.randrange(1_000_000), most))
    return tuple(sorted(steps, key=lambda each: (each.at, each.seed)))


class RescaleWishes:
    """The wishes of one run."""

    def __init__(self, steps: Iterable[RescaleStep]) -> None:
        self._steps = list(steps)
        self._asked: list[RescaleWish] = []

    def ask(self, step: int, job: LocalJob) -> list[str]:
        """Ask ``job`` for what is due at ``step``; gives words for the trace."""
        words = []
        while self._steps and self._steps[0].at <= step:
            words.append(self._ask(self._steps.pop(0), job))
        return words

    @property
    def fulfilled(self) -> int:
        """How many rescales came about."""
        return sum(wish.outcome.done() and wish.outcome.exception() is None for wish in self._asked)

    def _ask(self, step: RescaleStep, job: LocalJob) -> str:
        rng = random.Random(step.seed)  # noqa: S311  (has to be repeatable)
        now = parallelism_of(job.graph)
        parallelism = {
            vertex.id.value: step.level or rng.choice((now[vertex.id], rng.randint(1, step.most)))
            for vertex in job.graph.vertices
            if is_free(vertex)
        }
        wish = RescaleWish(parallelism)
        try:
            job.check_rescale(parallelism)
        except RescaleRefused as refused:
            return f"*** a rescale that is refused: {refused}"
        self._asked.append(wish)
        job.rescale(wish)
        return f"*** rescale wanted: {list(parallelism.values())}"
