"""Latency from the source through ``key_by`` and a running sum to the sink: ``python -m benchmarks.latency``.

Records come evenly, 10,000 a second if the system can take as many, and carry the moment at which they were due;
the sink takes the difference. Each run is a process of its own, and systems take turns. The first
seconds are warm-up and do not count. ``benchmarks.latencies`` holds the pipeline and the systems.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.latencies.contest import (
    ENTRIES,
    RIVERRUN,
    Entry,
    RunFailed,
    by_buffer_timeout,
    curve_of,
)
from benchmarks.latencies.timed import quantile
from benchmarks.provenance import provenance
from benchmarks.setup_peers import CACHE, PeerUnavailable

__all__ = ["main", "quantile"]

_WANTED_P50_MS: Final = 5.0
_WANTED_P99_MS: Final = 20.0
_SHOWN: Final = (0.5, 0.9, 0.99, 0.999)
_QUICK_SECONDS: Final = 8


def measure(
    entries: Sequence[Entry], seconds: int, repetitions: int, console: Console
) -> dict[str, list[list[float]]]:
    """The runs of each entry, by its name; one that fails is told of and has the runs before it."""
    runs: dict[str, list[list[float]]] = {entry.name: [] for entry in entries}
    for repetition in range(repetitions):
        for entry in entries:
            console.print(f"{entry.name}: run {repetition + 1} of {repetitions}")
            try:
                runs[entry.name].append(entry.run(seconds))
            except (RunFailed, PeerUnavailable) as error:
                console.print(str(error), markup=False, style="red")
    return {name: found for name, found in runs.items() if found}


def table_of(title: str, entries: Sequence[Entry], runs: dict[str, list[list[float]]]) -> Table:
    """Quantiles of each entry that was measured; the largest latency is that of all runs."""
    table = Table(title=title)
    for heading in ("system", "records/s", "settings", "p50", "p90", "p99", "p99.9", "max"):
        table.add_column(heading, justify="left" if heading in ("system", "settings") else "right")
    for entry in entries:
        if entry.name not in runs:
            continue
        curve = dict(curve_of(runs[entry.name]))
        settings = ", ".join(f"{name} {value}" for name, value in entry.settings.items())
        largest = max(run[-1] for run in runs[entry.name])
        shown = [*(curve[share] for share in _SHOWN), largest]
        table.add_row(
            entry.name, f"{entry.rate:,}", settings or "default", *(f"{ms:.1f}" for ms in shown)
        )
    return table


def document_of(
    systems: Sequence[Entry], timeouts: Sequence[Entry], runs: dict[str, list[list[float]]]
) -> dict[str, Any]:
    """What is saved, and what the latency chart is drawn from."""

    def part(entries: Sequence[Entry]) -> dict[str, Any]:
        return {
            entry.name: {
                "quantiles": [list(point) for point in curve_of(runs[entry.name])],
                "settings": entry.described(),
                "runs": len(runs[entry.name]),
            }
            for entry in entries
            if entry.name in runs
        }

    return {**provenance(), "systems": part(systems), "buffer_timeouts": part(timeouts)}


def verdict(curve: list[tuple[float, float]]) -> str:
    """Whether riverrun's goals are met.

    >>> verdict([(0.5, 4.0), (0.99, 25.0)])
    'p50 4.0 ms (wanted 5: met), p99 25.0 ms (wanted 20: missed)'
    """
    found = dict(curve)
    parts = []
    for name, share, wanted in (("p50", 0.5, _WANTED_P50_MS), ("p99", 0.99, _WANTED_P99_MS)):
        met = "met" if found[share] <= wanted else "missed"
        parts.append(f"{name} {found[share]:.1f} ms (wanted {wanted:.0f}: {met})")
    return ", ".join(parts)


def main() -> None:
    """Measure, print the tables and save the quantiles."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    names = [entry.name for entry in ENTRIES]
    parser.add_argument("--only", action="append", choices=names, help="systems to measure")
    parser.add_argument("--quick", action="store_true", help="riverrun only, one short run")
    parser.add_argument("--seconds", type=int, default=20, help="counted seconds of a run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-timeouts", action="store_true", help="no table by buffer timeout")
    arguments = parser.parse_args()
    console = Console(width=max(110, Console().width))
    seconds, repetitions = arguments.seconds, arguments.repetitions
    systems = [e for e in ENTRIES if not arguments.only or e.name in arguments.only]
    timeouts = [] if arguments.no_timeouts or RIVERRUN not in systems else by_buffer_timeout()
    if arguments.quick:
        systems, timeouts, seconds, repetitions = [RIVERRUN], [], _QUICK_SECONDS, 1
    runs = measure([*systems, *timeouts], seconds, repetitions, console)
    console.print(table_of("latency in ms: source, key_by, sum, sink", systems, runs))
    if timeouts:
        console.print(table_of("riverrun by buffer timeout", timeouts, runs))
    if RIVERRUN.name in runs:
        console.print(f"riverrun: {verdict(curve_of(runs[RIVERRUN.name]))}")
    if not arguments.quick:
        path = CACHE / "results" / "latency.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document_of(systems, timeouts, runs), indent=2))
        console.print(f"figures: {path}")


if __name__ == "__main__":
    main()
