"""How long no record flows while a running job is rescaled: ``python -m benchmarks.rescale``.

A keyed job gets records at a steady rate. Each subtask of its sink notes when records arrive. The gap is
the longest time, over all subtasks together, between two arrivals around a rescale; what the client waits
for, until every task of the new attempt runs, stands beside it.
"""

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from riverrun import SinkFunction, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource

_RATE: Final = 2_000
_KEYS: Final = 10_000
_ROUNDS: Final = 3
_STEPS: Final = (1, 3, 2)
_SETTLE_S: Final = 3.0
"""For so long the job runs before it is rescaled, and is watched afterwards."""
_GRAIN_S: Final = 0.005
_WANTED_S: Final = 6.0
_PATIENCE_S: Final = 120.0
_MODES: Final = {
    "checkpoints each second": {"execution.checkpointing.interval": "1 s"},
    "no checkpoints": {},
}


class Arrivals(SinkFunction):
    """Notes when records arrive, once for all that arrive within a few milliseconds."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: Any) -> None:
        subtask = runtime_context.get_index_of_this_subtask()
        place = Path(self._folder) / f"{runtime_context.get_attempt_number()}-{subtask}"
        self._file = place.open("a", buffering=1)
        self._last = 0.0

    def invoke(self, value: Any, context: Any) -> None:
        del value, context
        now = time.time()
        if now - self._last >= _GRAIN_S:
            self._last = now
            self._file.write(f"{now}\n")


def arrivals(folder: Path) -> list[float]:
    """All times so far, in order."""
    lines = (line for path in folder.iterdir() for line in path.read_text().splitlines())
    return sorted(float(line) for line in lines if "." in line)


@dataclass(frozen=True, slots=True)
class Rescale:
    """One measurement."""

    mode: str
    step: str
    gap_s: float
    client_s: float


def measured(mode: str, folder: Path) -> list[Rescale]:
    """Take one job through all steps."""
    environment = StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": "local[2]", **_MODES[mode]}
    )
    environment.set_parallelism(_STEPS[0])
    source = DataGeneratorSource(lambda number: (number % _KEYS, 1), None, _RATE)
    records = environment.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    sums = records.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    sums.add_sink(Arrivals(str(folder)))
    client = environment.execute_async("rescaled")
    found = []
    try:
        _await_arrivals(folder, after=0.0)
        for before, after in pairwise(_STEPS):
            time.sleep(_SETTLE_S)
            asked = time.time()
            client.rescale(after).result(_PATIENCE_S)
            client_s = time.time() - asked
            _await_arrivals(folder, after=asked + client_s)
            time.sleep(_SETTLE_S)
            times = [each for each in arrivals(folder) if each >= asked - 1.0]
            gap = max(b - a for a, b in pairwise(times))
            found.append(Rescale(mode, f"{before} -> {after}", gap, client_s))
    finally:
        client.cancel().result(_PATIENCE_S)
    return found


def _await_arrivals(folder: Path, after: float) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not any(each > after for each in arrivals(folder)):
        if time.monotonic() > end:
            raise TimeoutError(f"no record arrived within {_PATIENCE_S:.0f} s")
        time.sleep(0.05)


def report(results: list[Rescale]) -> Table:
    """A line for each step of each mode."""
    table = Table(title=f"no record flows for so long ({_RATE} records/s, {_KEYS} keys)")
    for column in ("job", "parallelism", "gap, median", "gap, worst", "rescale(), median"):
        table.add_column(column)
    for mode, step in dict.fromkeys((each.mode, each.step) for each in results):
        same = [each for each in results if (each.mode, each.step) == (mode, step)]
        median = statistics.median(each.gap_s for each in same)
        colour = "green" if median <= _WANTED_S else "red"
        table.add_row(
            mode,
            step,
            f"[{colour}]{median:.2f} s[/]",
            f"{max(each.gap_s for each in same):.2f} s",
            f"{statistics.median(each.client_s for each in same):.2f} s",
        )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rescale", description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    arguments = parser.parse_args()
    console, results = Console(), []
    for number in range(arguments.rounds):
        for mode in _MODES:
            with (
                console.status(f"round {number + 1}: {mode}"),
                tempfile.TemporaryDirectory() as folder,
            ):
                results += measured(mode, Path(folder))
    console.print(report(results))


if __name__ == "__main__":
    main()
