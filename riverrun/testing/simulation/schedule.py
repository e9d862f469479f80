"""Everything that decides how a simulated run goes: from it the run can be repeated exactly."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from riverrun.testing.simulation.faults import Extent, Fault, Faults, draw_faults
from riverrun.testing.simulation.rescales import RescaleStep, draw_rescales
from riverrun.testing.simulation.savepoints import SavepointStep, draw_savepoints
from riverrun.testing.simulation.variety import Manner, Variety, draw_manner


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run."""

    seed: int
    order: int
    """Seeds who comes next; the seed itself, but for a schedule that was made shorter."""
    faults: tuple[Fault, ...]
    manner: Manner
    savepoints: tuple[SavepointStep, ...] = ()
    """What is asked for on the way."""
    rescales: tuple[RescaleStep, ...] = ()

    def __str__(self) -> str:
        lines = [f"seed {self.seed}" + ("" if self.order == self.seed else f", order {self.order}")]
        lines += [f"  {key} = {value}" for key, value in sorted(self.manner.config.items())]
        lines += [f"  {step}" for step in (*self.savepoints, *self.rescales)]
        lines += [f"  fault: {fault}" for fault in self.faults] or ["  no faults"]
        return "\n".join(lines)


def draw_schedule(
    seed: int, faults: Faults, variety: Variety, program: Mapping[str, str], extent: Extent
) -> Schedule:
    """The run that ``seed`` stands for, of a program that sets ``program`` itself."""
    rng = random.Random(f"schedule {seed}")  # noqa: S311  (has to be repeatable)
    manner = draw_manner(rng, variety, program)
    drawn = draw_faults(rng, faults, extent)
    savepoints = draw_savepoints(rng, variety, extent)
    return Schedule(seed, seed, drawn, manner, savepoints, draw_rescales(rng, variety, extent))
