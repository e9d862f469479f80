"""Figures that nobody measured."""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.measurement import Measurement
from benchmarks.results import Cell, Plan, Results

PROVENANCE: dict[str, Any] = {
    "date": "2026-01-02T03:04:05+00:00",
    "machine": {
        "cores": 2,
        "processor": "Made <Up> 1",
        "memory_gb": 8.0,
        "python": "3.11.0",
        "system": "Linux",
    },
    "versions": {"riverrun": "0.1", "pyflink": "2.3.0"},
    "revision": "abcdef123456+",
    "command": "python -m benchmarks.run --publish",
}


def measurement(
    workload: str, system: str, rate: float, cpu: float = 2.0, peak: int = 100_000_000
) -> Measurement:
    """Of a million records beyond the small run, at ``rate`` and with ``cpu`` seconds."""
    seconds = 1_000_000 / rate
    return Measurement(
        system, workload, 1_000, 1.0, 1_001_000, 1.0 + seconds, {}, 0.5, 0.5 + cpu, peak, 12.0
    )


def results(
    rates: Iterable[tuple[str, str, Sequence[float]]], *, quick: bool = False, **more: Any
) -> Results:
    """Of workloads and systems with the rates of their rounds."""
    known = list(rates)
    plan = Plan(
        tuple(dict.fromkeys(workload for workload, _, _ in known)),
        tuple(dict.fromkeys(system for _, system, _ in known)),
        max((len(each) for _, _, each in known), default=1),
        quick,
    )
    made = Results(plan, PROVENANCE, **more)
    for workload, system, several in known:
        for turn, rate in enumerate(several, 1):
            made.add(Cell(workload, turn, system), measurement(workload, system, rate))
    return made
