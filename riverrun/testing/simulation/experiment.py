"""A program, what it gives when nobody disturbs it, and whether a run gives the same."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from riverrun.core import options
from riverrun.core.errors import ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.testing.simulation.faults import Faults
from riverrun.testing.simulation.program import Build, SimulatedProgram
from riverrun.testing.simulation.results import difference
from riverrun.testing.simulation.run import Outcome, Run
from riverrun.testing.simulation.schedule import Schedule, draw_schedule
from riverrun.testing.simulation.variety import Variety, draw_manner

Check: TypeAlias = Callable[[list[Any]], None]
"""Called with the result of a run; raises when there is something wrong with it."""

_OTHER_ORDERS: Final = 20
"""How many other orders of events are tried in search of a shorter run that fails."""
_MOST_STEPS: Final = 300_000
"""Of the undisturbed run."""
_STRETCH: Final = 30
"""How many times as long a run may be as the undisturbed one, before it is taken for endless."""
_LEAST_STEPS: Final = 5_000
_PATIENCE: Final = 30_000
"""How many steps the search for a short run may take."""


class Experiment:
    """Runs a program by schedules; a context manager, because programs may need local files."""

    def __init__(
        self,
        build: Build,
        faults: Faults,
        variety: Variety,
        check: Check | None,
        config: Mapping[str, str],
    ) -> None:
        self._programs = [
            SimulatedProgram(build, {**config, options.PARALLELISM.key: str(parallelism)})
            for parallelism in variety.parallelism
        ] or [SimulatedProgram(build, config)]
        self._program = self._programs[0]
        self._faults = faults
        self._variety = variety
        self._check = check
        self._patience = _PATIENCE
        self._scratch = tempfile.TemporaryDirectory(prefix="riverrun-simulation-")
        self._most_steps = _MOST_STEPS
        self._undisturbed = self._run_undisturbed()
        self._most_steps = max(_LEAST_STEPS, _STRETCH * self._undisturbed.extent.steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scratch.cleanup()

    @property
    def result(self) -> list[Any]:
        """What the undisturbed run gave."""
        return self._undisturbed.values

    def schedule(self, seed: int) -> Schedule:
        """The run that ``seed`` stands for."""
        return draw_schedule(
            seed, self._faults, self._variety, self._program.config, self._undisturbed.extent
        )

    def run(self, schedule: Schedule, *, traced: bool = False) -> Outcome:
        """One run."""
        folder = Path(self._scratch.name)
        most = self._most_steps
        return Run(self._programs, schedule, folder, traced=traced, most_steps=most).run()

    def problem(self, schedule: Schedule, outcome: Outcome) -> str | None:
        """What is wrong with the run; ``None`` when it is as it should be."""
        if outcome.problem is not None:
            return outcome.problem
        if outcome.status is not JobStatus.FINISHED:
            why = "" if outcome.failure is None else f": {outcome.failure.headline()}"
            return f"the job is {outcome.status.value}{why}"
        may_repeat = schedule.manner.may_repeat
        found = difference(self.result, outcome.values, may_repeat=may_repeat)
        if found is not None:
            return f"the result is not that of the undisturbed run: {found}"
        return self._checked(outcome.values)

    def shortest(self, schedule: Schedule) -> Schedule:
        """A run that fails with as few faults, and then in as few steps, as could be found."""
        self._patience = _PATIENCE
        best, steps = self._with_fewer_faults(schedule)
        for order in range(_OTHER_ORDERS):
            other = replace(best, order=order)
            taken = self._steps_to_failure(other)
            if taken is not None and taken < steps:
                best, steps = other, taken
        return best

    def _with_fewer_faults(self, schedule: Schedule) -> tuple[Schedule, int]:
        steps = self._steps_to_failure(schedule) or 0
        found = True
        while found:
            found = False
            for fault in reversed(schedule.faults):
                left = tuple(each for each in schedule.faults if each is not fault)
                fewer = replace(schedule, faults=left)
                taken = self._steps_to_failure(fewer)
                if taken is not None:
                    schedule, steps, found = fewer, taken, True
        return schedule, steps

    def _steps_to_failure(self, schedule: Schedule) -> int | None:
        """How long the run is if it fails; ``None`` when it does not, or nobody wants to wait."""
        if self._patience <= 0:
            return None
        outcome = self.run(schedule)
        self._patience -= outcome.extent.steps
        return None if self.problem(schedule, outcome) is None else outcome.extent.steps

    def _run_undisturbed(self) -> Outcome:
        rng = random.Random("undisturbed")  # noqa: S311  (has to be repeatable)
        manner = draw_manner(rng, self._variety, self._program.config)
        config = {**manner.config, options.RESTART_STRATEGY.key: "none"}
        schedule = Schedule(0, 0, (), replace(manner, config=config))
        outcome = self.run(schedule)
        if outcome.problem is None and outcome.status is JobStatus.FINISHED:
            problem = self._checked(outcome.values)
        else:
            why = outcome.problem or (outcome.failure and outcome.failure.headline())
            problem = f"the job is {outcome.status.value}: {why}"
        if problem is not None:
            self._scratch.cleanup()
            raise ProgramError(
                f"simulate: the program fails although nobody disturbs it: {problem}; run it with the "
                f"master 'in-process' to see more"
            )
        return outcome

    def _checked(self, values: list[Any]) -> str | None:
        if self._check is None:
            return None
        try:
            self._check(list(values))
        except Exception as error:  # noqa: BLE001  (what a check raises is what it found)
            return f"the check found {type(error).__name__}: {error}"
        return None
