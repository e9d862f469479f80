"""Whether a record costs more when there are more of something: ``python -m benchmarks.growth [--quick]``.

* ``records``: the ``state`` workload on Spark over ever longer runs. What a job costs to start drops out, as the
  difference of two lengths is taken.
* ``keys``: a process function with a value state over ever more keys, beside a bare loop with a dict of as many
  keys: what looking into a larger dict costs is the machine's doing. Hashmap, in this process.
* ``operators``: ever longer chains of maps, cost of an operator, beside a bare loop of as many calls. In this
  process.

Costs are CPU time, which other work on the machine changes less than time on the clock; each is the least of
some rounds in which all sizes take turns. Writes ``.cache/bench/results/growth.json``.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import engine
from benchmarks.guard.chains import chain_of
from benchmarks.guard.counters import CpuCounter, cost
from benchmarks.guard.work import RUN, Work
from benchmarks.loops.transactions import Totals as BareTotals
from benchmarks.programs.transactions import Totals
from benchmarks.resources import adopt_orphans, cpu_seconds
from benchmarks.setup_peers import CACHE
from benchmarks.steps import add_one
from benchmarks.workloads import STATE, Transaction, customer_of
from riverrun.datastream.data_stream import DataStream

RECORDS: Final = "records"
KEYS: Final = "keys"
OPERATORS: Final = "operators"


@dataclass(frozen=True, slots=True)
class Sizes:
    """What grows, and how far."""

    start: int
    records: tuple[int, ...]
    keys: tuple[int, ...]
    operators: tuple[int, ...]
    visits: int
    """Records over each number of keys."""
    rounds: int


_FULL: Final = Sizes(
    500_000,
    (1_500_000, 4_500_000, 16_500_000),
    (1_000, 10_000, 100_000, 1_000_000),
    (1, 10, 50, 100),
    200_000,
    7,
)
_QUICK: Final = Sizes(
    100_000, (300_000, 1_100_000), (1_000, 10_000, 100_000), (1, 10, 50, 100), 40_000, 3
)


@dataclass(frozen=True, slots=True)
class Point:
    """The cost at one size."""

    axis: str
    size: int
    nanoseconds: float
    """CPU time of a record, or of a record and operator."""
    bare: float | None = None
    """The same of the bare loop."""

    @property
    def beside(self) -> float:
        """What is compared between sizes.

        >>> Point("keys", 10, 300.0, 100.0).beside, Point("records", 10, 300.0).beside
        (3.0, 300.0)
        """
        # A loop over few calls is mostly loop: beside it, longer chains would seem to grow.
        if self.bare is None or self.axis == OPERATORS:
            return self.nanoseconds
        return self.nanoseconds / self.bare


def run_lengths(sizes: Sizes) -> list[Point]:
    """The cost of a record in runs of each length, on Spark."""
    adopt_orphans()
    arguments = argparse.Namespace(**{**engine.SETTINGS, "workload": STATE})
    engine.run(arguments, sizes.start)
    start = _cpu_of(arguments, sizes.start)
    return [
        Point(RECORDS, length, (_cpu_of(arguments, length) - start) / (length - sizes.start) * 1e9)
        for length in sizes.records
    ]


def _cpu_of(arguments: argparse.Namespace, records: int) -> float:
    before = cpu_seconds()
    engine.run(arguments, records)
    after = cpu_seconds()
    if before is None or after is None:
        raise SystemExit("growth: CPU time of other processes is not known on this system")
    return after - before


def numbers_of_keys(sizes: Sizes) -> list[Point]:
    """The cost of a record over each number of keys; every key is there before."""
    prepared = {keys: (_state(keys, sizes), _bare_state(keys, sizes)) for keys in sizes.keys}
    return _points(KEYS, prepared, sizes.rounds)


def chain_lengths(sizes: Sizes) -> list[Point]:
    """The cost of an operator in a chain of each length."""
    prepared = {
        count: (_chain(count, sizes), _bare_chain(count, sizes)) for count in sizes.operators
    }
    return _points(OPERATORS, prepared, sizes.rounds)


def _points(axis: str, prepared: Mapping[int, tuple[Work, Work]], rounds: int) -> list[Point]:
    least = {size: [float("inf"), float("inf")] for size in prepared}
    for _ in range(rounds):
        for size, works in prepared.items():
            for which, work in enumerate(works):
                least[size][which] = min(least[size][which], cost(CpuCounter(), work))
    return [Point(axis, size, ours, bare) for size, (ours, bare) in least.items()]


def _visit(index: int, keys: int) -> Transaction:
    """A record of one of so many keys, in no order."""
    mixed = index * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 20) % keys, index & 0xFFFF


def _runs(records: Sequence[Any]) -> list[list[Any]]:
    return [list(records[at : at + RUN]) for at in range(0, len(records), RUN)]


def _state(keys: int, sizes: Sizes) -> Work:
    head = chain_of(lambda stream: stream.key_by(customer_of).process(Totals())).head
    for run in _runs([(key, 0) for key in range(keys)]):
        head.accept(run, None)
    runs = _runs([_visit(index, keys) for index in range(sizes.visits)])

    def work() -> int:
        for run in runs:
            head.accept(run, None)
        return sizes.visits

    return work


def _bare_state(keys: int, sizes: Sizes) -> Work:
    function = BareTotals()
    function.totals.update(dict.fromkeys(range(keys), 0))
    records = [_visit(index, keys) for index in range(sizes.visits)]

    def work() -> int:
        process = function.process_element
        for record in records:
            for _ in process(record):
                pass
        return sizes.visits

    return work


def _chain(count: int, sizes: Sizes) -> Work:
    def build(stream: DataStream) -> DataStream:
        for _ in range(count):
            stream = stream.map(add_one)
        return stream

    head = chain_of(build).head
    runs = _runs(range(max(RUN, sizes.visits // count)))

    def work() -> int:
        for run in runs:
            head.accept(run, None)
        return count * sum(map(len, runs))

    return work


def _bare_chain(count: int, sizes: Sizes) -> Work:
    functions = (add_one,) * count
    records = range(max(RUN, sizes.visits // count))

    def work() -> int:
        for record in records:
            value = record
            for function in functions:
                value = function(value)
        return count * len(records)

    return work


_AXES: Final[Mapping[str, Callable[[Sizes], list[Point]]]] = {
    KEYS: numbers_of_keys,
    OPERATORS: chain_lengths,
    RECORDS: run_lengths,
}


def growth(points: Sequence[Point]) -> float:
    """How many times as much as at the first size it costs at the worst of the others.

    >>> growth([Point("keys", 1, 300.0, 100.0), Point("keys", 10, 500.0, 160.0)])
    1.0416666666666667
    """
    first, *others = (point.beside for point in points)
    return max(others) / first


def _table(axis: str, points: Sequence[Point]) -> Table:
    table = Table(title=f"CPU time by number of {axis}; grows {growth(points):.2f} times")
    columns = ("size", "ns", "bare loop, ns", "beside it", "of the first")
    for heading in columns:
        table.add_column(heading, justify="right")
    for point in points:
        table.add_row(
            f"{point.size:,}",
            f"{point.nanoseconds:,.0f}",
            "" if point.bare is None else f"{point.bare:,.0f}",
            "" if point.bare is None else f"{point.nanoseconds / point.bare:.2f}",
            f"{point.beside / points[0].beside:.2f}",
        )
    return table


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--axis", choices=tuple(_AXES), action="append", help="default: all")
    arguments = parser.parse_args()
    sizes = _QUICK if arguments.quick else _FULL
    console = Console()
    found: dict[str, list[Point]] = {}
    for axis in arguments.axis or _AXES:
        found[axis] = _AXES[axis](sizes)
        console.print(_table(axis, found[axis]))
    results = CACHE / "results"
    results.mkdir(parents=True, exist_ok=True)
    file = results / "growth.json"
    stored: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for axis, points in found.items():
        stored[axis] = {"growth": growth(points), "points": [asdict(point) for point in points]}
    file.write_text(json.dumps(stored, indent=2))


if __name__ == "__main__":
    main()
