"""Try a program against everything that can go wrong: ``simulate`` in a test, ``replay`` for a failing seed.

A run is a whole job with its JobMaster, its tasks and its checkpoint store, in one thread and with
virtual time. Its seed decides who comes next at each step, how checkpoints are taken, and which faults
strike when. So thousands of runs take a minute, no two are alike, and each can be repeated exactly.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from riverrun.testing.simulation.experiment import Check, Experiment
from riverrun.testing.simulation.failure import SimulationFailed
from riverrun.testing.simulation.faults import FaultKind, Faults
from riverrun.testing.simulation.program import Build
from riverrun.testing.simulation.variety import Variety

__all__ = ["Faults", "SimulationFailed", "SimulationReport", "Variety", "replay", "simulate"]

_DEFAULTS: Final = Faults()
_VARIETY: Final = Variety()
_SWITCH_S: Final = 0.00001
_NO_CONFIG: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What was tried; all of it went well."""

    runs: int
    steps: int
    attempts: int
    """How often a job was started, in all runs together."""
    checkpoints: int
    """How many checkpoints were completed, savepoints among them."""
    faults: Mapping[str, int]
    """How many faults of each kind struck."""
    savepoints: int = 0
    """How many savepoints were completed."""
    jobs: int = 0
    """How many jobs there were; more than runs if jobs were stopped and others went on."""
    rescales: int = 0
    """How often a running job was rescaled."""


def simulate(
    build: Build,
    *,
    seeds: Iterable[int] = range(100),
    faults: Faults = _DEFAULTS,
    variety: Variety = _VARIETY,
    check: Check | None = None,
    config: Mapping[str, str] = _NO_CONFIG,
) -> SimulationReport:
    """Run a program once for each seed, and compare its result with that of an undisturbed run.

    The result is all records of the stream that ``build`` returns, in any order. The program has to be
    deterministic but for that order: what it gives must follow from what its sources give. In a run
    with the mode at-least-once the result may have more records than that of the undisturbed run.

    Args:
        build: defines the program on the environment that it gets, and returns a stream.
        seeds: which runs; the same seed is always the same run, as long as program and arguments stay.
        faults: how many of each may strike in one run.
        variety: in what else runs differ.
        check: called with the result of each run, the undisturbed one too; raises what is wrong.
        config: settings for the environment, beside those that ``build`` makes.

    Raises:
        SimulationFailed: with the first seed that gave another result, a schedule as short as could
            be found that does so too, and its trace.
        ProgramError: the program cannot run, or fails by itself.
    """
    runs = steps = attempts = checkpoints = savepoints = jobs = rescales = 0
    struck: Counter[FaultKind] = Counter()
    with _quietly(), Experiment(build, faults, variety, check, config) as experiment:
        for seed in seeds:
            schedule = experiment.schedule(seed)
            outcome = experiment.run(schedule)
            problem = experiment.problem(schedule, outcome)
            if problem is not None:
                raise _failed(experiment, seed, problem)
            runs += 1
            steps += outcome.extent.steps
            attempts += outcome.attempts
            checkpoints += outcome.checkpoints
            savepoints += outcome.savepoints
            jobs += outcome.jobs
            rescales += outcome.rescales
            struck.update(fault.kind for fault in outcome.struck)
    faults_struck = {kind.value: struck[kind] for kind in FaultKind}
    return SimulationReport(
        runs, steps, attempts, checkpoints, faults_struck, savepoints, jobs, rescales
    )


def replay(
    build: Build,
    seed: int,
    *,
    faults: Faults = _DEFAULTS,
    variety: Variety = _VARIETY,
    check: Check | None = None,
    config: Mapping[str, str] = _NO_CONFIG,
) -> list[str]:
    """Repeat the run of one seed, with the arguments that ``simulate`` had, and give its trace.

    Raises:
        SimulationFailed: the run goes wrong; with its own schedule and trace, not a shorter one.
    """
    with Experiment(build, faults, variety, check, config) as experiment:
        schedule = experiment.schedule(seed)
        outcome = experiment.run(schedule, traced=True)
        problem = experiment.problem(schedule, outcome)
    if problem is not None:
        raise SimulationFailed(seed, problem, str(schedule), outcome.trace)
    return list(outcome.trace)


@contextmanager
def _quietly() -> Iterator[None]:
    """Log no warnings, which are many and wanted here, and look for old garbage less often.

    Asynchronous calls run in a thread of their own, in real time: it gets its turn at once, or a run would be
    over before it.
    """
    log = logging.getLogger("riverrun")
    level, interval = log.level, sys.getswitchinterval()
    log.setLevel(logging.CRITICAL)
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(interval)
        log.setLevel(level)


def _failed(experiment: Experiment, seed: int, problem: str) -> SimulationFailed:
    shortest = experiment.shortest(experiment.schedule(seed))
    outcome = experiment.run(shortest, traced=True)
    if experiment.problem(shortest, outcome) is None:
        problem += (
            "; the run does not repeat, so something in the program is not decided by its input"
        )
    elif not shortest.faults:
        problem += "; no fault is needed for that, another order of events is enough"
    return SimulationFailed(seed, problem, str(shortest), outcome.trace)
