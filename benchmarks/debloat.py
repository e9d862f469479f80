"""What buffer debloating changes: ``python -m benchmarks.debloat``.

A source far ahead of a function that takes a millisecond for a record of a hundred bytes: how many records are in
flight between the two, and how long a checkpoint takes, whose barrier waits behind them; with debloating and
without, in one run.
Then a keyed job that is held up by nothing but the cores: what debloating costs where it is of no use.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.resources import adopt_orphans, cpu_seconds
from riverrun import StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink
from riverrun.core import options

_PARALLELISM: Final = 2
_RECORD_S: Final = 0.001
_PAYLOAD: Final = "x" * 100
_SMALL: Final = 1_000_000
_PATIENCE_S: Final = 900.0
_MODES: Final = {"off": "false", "on": "true"}


@dataclass(frozen=True, slots=True)
class Held:
    """A checkpoint of the job with the slow function."""

    in_flight: int
    checkpoint_s: float


@dataclass(frozen=True, slots=True)
class Free:
    """A run of the fast job."""

    seconds: float
    cpu: float


def slowly(value: Any) -> Any:
    """Take a millisecond."""
    time.sleep(_RECORD_S)
    return value


def held(mode: str, done: int) -> Held:
    """Take a checkpoint when the slow function has done so many records."""
    with tempfile.TemporaryDirectory() as folder:
        environment = _environment(mode)
        environment.configure(
            {
                "execution.checkpointing.dir": folder,
                "execution.checkpointing.interval": "10 h",
                "execution.checkpointing.timeout": "1 h",
                "riverrun.metrics.interval": "100 ms",
            }
        )
        source = DataGeneratorSource(lambda number: (number % 1000, _PAYLOAD), None)
        records = environment.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        records.key_by(lambda pair: pair[0]).map(slowly).name("slow").sink_to(DiscardingSink())
        client = environment.execute_async("held")
        try:
            while (finished := _counted(client, "slow", "numRecordsIn")) < done:
                time.sleep(0.1)
            in_flight = _counted(client, "Source: records", "numRecordsOut") - finished
            began = time.perf_counter()
            client.trigger_checkpoint(_PATIENCE_S)
            return Held(in_flight, time.perf_counter() - began)
        finally:
            client.cancel().result(_PATIENCE_S)


def free(mode: str, records: int) -> Free:
    """Run a keyed sum over so many records."""
    environment = _environment(mode)
    source = DataGeneratorSource(lambda number: (number % 1000, 1), records)
    pairs = environment.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    sums = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    sums.sink_to(DiscardingSink())
    started, cpu = time.perf_counter(), cpu_seconds() or 0.0
    environment.execute("free")
    return Free(time.perf_counter() - started, (cpu_seconds() or 0.0) - cpu)


def _environment(mode: str) -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": "local[2]", options.DEBLOAT.key: _MODES[mode]}
    )
    environment.set_parallelism(_PARALLELISM)
    return environment


def _counted(client: Any, operator: str, metric: str) -> int:
    found = client.get_metrics().items()
    return int(sum(values[metric] for scope, values in found if scope.endswith(f".{operator}")))


def report_held(found: dict[str, list[Held]]) -> Table:
    """A line for each mode."""
    table = Table(title=f"a millisecond a record, parallelism {_PARALLELISM}")
    for column in ("debloating", "records in flight", "checkpoint"):
        table.add_column(column, justify="right")
    for mode, several in found.items():
        in_flight = statistics.median(each.in_flight for each in several)
        took = statistics.median(each.checkpoint_s for each in several)
        table.add_row(mode, f"{in_flight:,.0f}", f"{took:.1f} s")
    return table


def report_free(costs: dict[str, list[float]], rates: dict[str, list[float]]) -> Table:
    """A line for each mode, and the ratios."""
    table = Table(title=f"a keyed sum as fast as it goes, parallelism {_PARALLELISM}")
    for column in ("debloating", "records/s", "µs of CPU a record"):
        table.add_column(column, justify="right")
    rate = {mode: statistics.median(several) for mode, several in rates.items()}
    cost = {mode: statistics.median(several) for mode, several in costs.items()}
    for mode in rates:
        table.add_row(mode, f"{rate[mode]:,.0f}", f"{cost[mode]:.2f}")
    table.add_row("on / off", f"{rate['on'] / rate['off']:.2f}", f"{cost['on'] / cost['off']:.2f}")
    return table


def _measure_held(rounds: int, done: int, modes: Sequence[str], console: Console) -> None:
    found: dict[str, list[Held]] = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode in modes:
            found[mode].append(held(mode, done))
    console.print(report_held(found))


def _measure_free(rounds: int, records: int, console: Console) -> None:
    costs: dict[str, list[float]] = {mode: [] for mode in _MODES}
    rates: dict[str, list[float]] = {mode: [] for mode in _MODES}
    free("off", _SMALL)
    for turn in range(rounds):
        for mode in list(_MODES) if turn % 2 == 0 else reversed(list(_MODES)):
            less, more = free(mode, _SMALL), free(mode, records)
            rates[mode].append((records - _SMALL) / (more.seconds - less.seconds))
            costs[mode].append((more.cpu - less.cpu) / (records - _SMALL) * 1e6)
    console.print(report_free(costs, rates))


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("held", "free"), help="one of the two parts only")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--done", type=int, default=8_000, help="records before the checkpoint")
    parser.add_argument("--records", type=int, default=10_000_000, help="of the fast job")
    parser.add_argument("--only", choices=tuple(_MODES), help="the slow job in this mode only")
    arguments = parser.parse_args()
    console = Console()
    adopt_orphans()
    if arguments.part != "free":
        modes = [arguments.only] if arguments.only else list(_MODES)
        _measure_held(arguments.rounds, arguments.done, modes, console)
    if arguments.part != "held":
        _measure_free(arguments.rounds, arguments.records, console)


if __name__ == "__main__":
    main()
