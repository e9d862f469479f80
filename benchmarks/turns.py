"""Systems that take turns: workload by workload and round by round, each in a process of its own.

All rounds of a workload follow each other, so that what is compared was measured within minutes.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.measurement import Measurement
from benchmarks.results import Cell, Plan, Results
from benchmarks.setup_peers import PeerUnavailable, ensure
from benchmarks.systems import RunFailed, System

UNKNOWN_SECONDS: Final = 15.0
"""What a cell is expected to take that was never measured."""

Expected = Mapping[tuple[str, str], float]
"""Seconds by workload and system."""


def chosen(
    systems: Mapping[str, System], only: Sequence[str] | None, console: Console, *, peers: bool
) -> list[System]:
    """The systems asked for, the environments of the peers among them made where missing."""
    result = []
    for name in only or systems:
        if systems[name].is_peer and not peers:
            continue
        peer = systems[name].environment
        if peer is not None:
            try:
                ensure(peer)
            except PeerUnavailable as error:
                console.print(f"left out: {error}", style="red", markup=False)
                continue
        result.append(systems[name])
    return result


def cells(systems: Mapping[str, System], plan: Plan) -> list[Cell]:
    """In the order in which they are measured; a system sits out where it has no case."""
    return [
        Cell(workload, turn, name)
        for workload in plan.workloads
        for turn in range(1, plan.rounds + 1)
        for name in plan.systems
        if workload in systems[name].cases
    ]


def seconds_left(pending: Sequence[Cell], done: Results, before: Expected) -> float:
    """How long the rest takes, if each cell takes what it took in this run, or else in the last."""
    now: dict[tuple[str, str], float] = {}
    for each in done.measurements:
        if each.cell_seconds is not None:
            now[each.workload, each.system] = each.cell_seconds
    known = {**before, **now}
    return sum(known.get((cell.workload, cell.system), UNKNOWN_SECONDS) for cell in pending)


def take_turns(  # noqa: PLR0913  (settings of a run, by their names)
    results: Results,
    systems: Mapping[str, System],
    console: Console,
    path: Path,
    *,
    expected: Expected,
    deadline_seconds: float,
    part: Plan | None = None,
) -> None:
    """Measure every cell that has no figure yet; one that fails does not keep the others from it.

    With ``part`` only the cells of that plan.
    """
    every = cells(systems, part or results.plan)
    pending = results.pending(every)
    for number, cell in enumerate(pending):
        left = seconds_left(pending[number:], results, expected)
        place = len(every) - len(pending) + number + 1
        what = f"{place:>3}/{len(every)}  {cell.workload:<10} {cell.turn}  {cell.system:<16}"
        started = time.monotonic()
        with console.status(f"{what}  about {minutes(left)} left in all"):
            outcome = _measure(systems[cell.system], cell, results.plan, deadline_seconds)
        took = f"{time.monotonic() - started:>5.0f} s"
        if isinstance(outcome, Measurement):
            results.add(cell, outcome)
            rest = minutes(seconds_left(pending[number + 1 :], results, expected))
            line = f"{what}{outcome.rate:>13,.0f} records/s {took}, about {rest} left"
            console.print(line, highlight=False)
        else:
            results.fail(cell, str(outcome))
            console.print(f"{what}  failed: {outcome}", style="red", markup=False)
        results.save(path)


def _measure(
    system: System, cell: Cell, plan: Plan, deadline_seconds: float
) -> Measurement | Exception:
    try:
        measurement = system.run(cell.workload, quick=plan.quick, deadline_seconds=deadline_seconds)
        _ = measurement.rate
    except (RunFailed, PeerUnavailable, ValueError) as error:
        return error
    return measurement


def minutes(seconds: float) -> str:
    """Words for a duration.

    >>> minutes(40), minutes(61), minutes(5400)
    ('40 s', '1 min', '1 h 30 min')
    """
    if seconds < 60:  # noqa: PLR2004 - the minute
        return f"{seconds:.0f} s"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
