"""Savepoints of a simulated run: when they are asked for, and which of them the job stopped with."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from riverrun.checkpoint.layout import savepoint_folder
from riverrun.cluster.savepoint_wishes import SavepointWish
from riverrun.protocol.barriers import SavepointOrder
from riverrun.testing.simulation.faults import Extent
from riverrun.testing.simulation.variety import Variety

_PLACE: Final = "memory://savepoints"


@dataclass(frozen=True, slots=True)
class SavepointStep:
    """Somebody asks for a savepoint."""

    at: int
    """At which step of the run, counted from 1."""
    stop: bool

    def __str__(self) -> str:
        return f"{'stop with a savepoint' if self.stop else 'savepoint'} (step {self.at})"


def draw_savepoints(
    rng: random.Random, variety: Variety, extent: Extent
) -> tuple[SavepointStep, ...]:
    """What one run asks for, in order."""
    kinds = [False] * rng.randint(0, variety.savepoints) + [True] * rng.randint(0, variety.stops)
    steps = [SavepointStep(rng.randint(1, max(2, extent.steps)), stop) for stop in kinds]
    return tuple(sorted(steps, key=lambda each: (each.at, each.stop)))


class SavepointWishes:
    """The wishes of one run."""

    def __init__(self, steps: Iterable[SavepointStep]) -> None:
        self._steps = list(steps)
        self._asked = 0

    def due(self, step: int, job: str) -> list[SavepointWish]:
        """What somebody asks ``job`` for at ``step``."""
        due = [each for each in self._steps if each.at <= step]
        self._steps = self._steps[len(due) :]
        return [self._wish(each, job) for each in due]

    def _wish(self, step: SavepointStep, job: str) -> SavepointWish:
        self._asked += 1
        # A try that is made again has the number after that.
        folder = savepoint_folder(_PLACE, job, self._asked * 1000)
        return SavepointWish(SavepointOrder(folder, stop=step.stop))
