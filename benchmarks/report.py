"""What a benchmark run says at its end: medians, ratios within the run, and whether they suffice."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from rich.table import Table

from benchmarks.measurement import PARALLELISM, Measurement
from benchmarks.provenance import provenance
from benchmarks.setup_peers import CACHE
from benchmarks.workloads import KEYED, STATE, STATELESS, WINDOWS

Targets: TypeAlias = Mapping[tuple[str, str], float]

TARGETS: Final[Targets] = {
    (STATELESS, "baseline"): 1 / 2,
    (KEYED, "baseline"): 1 / 3,
    (STATELESS, "pyflink"): 8.0,
    (KEYED, "pyflink"): 8.0,
    (STATELESS, "bytewax"): 1.0,
    (KEYED, "bytewax"): 1.0,
    (STATE, "baseline"): 1 / 4,
    (STATE, "pyflink"): 15.0,
    (STATE, "bytewax"): 2.0,
    (WINDOWS, "baseline"): 1 / 5,
    (WINDOWS, "pyflink"): 40.0,
    (WINDOWS, "bytewax"): 4.0,
}
"""By workload and system: how many times that system's records/s riverrun is to reach."""

Measurements = Sequence[Measurement]


def median_rate(measurements: Measurements, workload: str, system: str) -> float | None:
    """The median records/s of a system in this run; None where it was not measured."""
    rates = [m.rate for m in measurements if (m.workload, m.system) == (workload, system)]
    return statistics.median(rates) if rates else None


def table(measurements: Measurements, targets: Targets = TARGETS) -> Table:
    """One row for each workload and system; the limit is the baseline."""
    result = Table(title=f"records/s at parallelism {PARALLELISM}, medians, net of start-up")
    result.add_column("workload")
    result.add_column("system")
    for heading in ("records/s", "of limit", "riverrun", "wanted", "spread", "start s"):
        result.add_column(heading, justify="right")
    for workload in _workloads(measurements):
        for system in dict.fromkeys(m.system for m in measurements):
            if row := _row(measurements, workload, system, targets):
                result.add_row(workload, system, *row)
        result.add_section()
    return result


def _workloads(measurements: Measurements) -> list[str]:
    return list(dict.fromkeys(m.workload for m in measurements))


def _row(
    measurements: Measurements, workload: str, system: str, targets: Targets
) -> tuple[str, ...] | None:
    own = [m for m in measurements if (m.workload, m.system) == (workload, system)]
    if not own:
        return None
    rate = statistics.median(m.rate for m in own)
    base = median_rate(measurements, workload, "baseline")
    ours = median_rate(measurements, workload, "riverrun")
    times, wanted = "", ""
    if ours is not None and (target := targets.get((workload, system))):
        colour = "green" if ours / rate >= target else "red"
        times, wanted = f"[{colour}]{ours / rate:.2f} x[/]", f"{target:.2f} x"
    spread = (max(m.rate for m in own) - min(m.rate for m in own)) / rate
    start = statistics.median(m.start_seconds for m in own)
    of_base = f"{rate / base:.2f}" if base else ""
    return f"{rate:,.0f}", of_base, times, wanted, f"{spread:.0%}", f"{start:.1f}"


def save(measurements: Measurements, *, quick: bool) -> Path:
    """Write everything measured to a dated JSON file, and return its path."""
    now = datetime.now(UTC)
    path = CACHE / "results" / f"{now:%Y-%m-%dT%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_document(measurements, quick=quick), indent=2))
    return path


def _document(measurements: Measurements, *, quick: bool) -> dict[str, Any]:
    medians = {
        workload: {
            system: median_rate(measurements, workload, system)
            for system in dict.fromkeys(m.system for m in measurements if m.workload == workload)
        }
        for workload in _workloads(measurements)
    }
    return {
        **provenance(),
        "quick": quick,
        "parallelism": PARALLELISM,
        "median_records_per_second": medians,
        "measurements": [{**asdict(m), "rate": m.rate} for m in measurements],
    }
