"""Far more keys than the memory holds: ``python -m benchmarks.many_keys [--quick]``.

Ten million keys, each with a number in a value state; the backends take turns. Every key is written once, which
is not counted; then keys are visited at random, each visit one read and one write. Two subtasks, for
rocksdb with 512 MB each. Wanted: at least half of the rate of hashmap, and the workers within what they
hold without any state and the budget.

Beside the rate stands the CPU time of a visit in all processes of the job, which other work on the
machine changes less.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeAlias

from rich.console import Console
from rich.table import Table

from benchmarks.measurement import PARALLELISM
from benchmarks.resources import adopt_orphans, cpu_seconds, memory_bytes
from benchmarks.setup_peers import CACHE
from riverrun import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction
from riverrun.connectors.discard import DiscardingSink

Visit: TypeAlias = tuple[int, int]
"""Key and number of the visit; negative while the keys are written."""

_POLL_S: Final = 0.05
_WANTED: Final = 0.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is run."""

    keys: int
    visits: int
    memory_mb: int
    rounds: int


_FULL: Final = Sizes(10_000_000, 6_000_000, 512, 2)
_QUICK: Final = Sizes(1_000_000, 1_000_000, 52, 1)
"""A tenth of the keys, and of the memory."""


class Visits(GeneratorFunction):
    """All keys once, then keys at random."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def map(self, value: int) -> Visit:
        """The visit number ``value - keys``."""
        keys = self._keys
        if value < keys:
            return value, value - keys
        mixed = value * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        mixed ^= mixed >> 29
        return (mixed * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF) % keys, value - keys


def key_of(visit: Visit) -> int:
    """The key."""
    return visit[0]


class Counts(KeyedProcessFunction):
    """How often each key came; leaves a note at its first visit."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._visited = False

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Visit, ctx: KeyedProcessFunction.Context) -> Iterator[Visit]:
        """One read, one write."""
        del ctx
        if value[1] >= 0 and not self._visited:
            self._visited = True
            Path(self._folder, str(self._subtask)).write_text(str(os.getpid()))
        count = self._count.value()
        count = value[0] if count is None else count + 1
        self._count.update(count)
        yield value[0], count


@dataclass(frozen=True, slots=True)
class Found:
    """One job."""

    backend: str
    rate: float
    """Visits a second."""
    cpu_us: float
    """Microseconds of CPU a visit, in all processes."""
    peak_mb: float
    """The most that the larger worker of the keyed function held."""


def measured(backend: str, sizes: Sizes) -> Found:
    """Run the job once."""
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "state.backend.type": backend,
            "state.backend.rocksdb.memory.fixed-per-slot": f"{sizes.memory_mb}mb",
        }
        environment = StreamExecutionEnvironment.get_execution_environment(config)
        environment.set_parallelism(PARALLELISM)
        source = DataGeneratorSource(Visits(sizes.keys), sizes.keys + sizes.visits)
        visits = environment.from_source(source, WatermarkStrategy.no_watermarks(), "visits")
        counts = visits.key_by(key_of).process(Counts(folder))
        counts.sink_to(DiscardingSink())
        client = environment.execute_async("many keys")
        result = client.get_job_execution_result()
        while len(workers := _workers(Path(folder))) < PARALLELISM:
            if result.done():
                result.result()
                raise SystemExit("many keys: the job ended before a key was visited")
            time.sleep(_POLL_S)
        started, cpu = time.perf_counter(), cpu_seconds() or 0.0
        with _Peak(workers) as peak:
            result.result()
        took, used = time.perf_counter() - started, (cpu_seconds() or 0.0) - cpu
    return Found(backend, sizes.visits / took, used / sizes.visits * 1e6, peak.most / 1e6)


def _workers(folder: Path) -> list[int]:
    return [int(text) for file in folder.iterdir() if (text := file.read_text())]


class _Peak:
    """Looks at the memory of some processes while the ``with`` block runs."""

    def __init__(self, pids: list[int]) -> None:
        self.most = 0
        self._pids = pids
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Peak":  # noqa: PYI034  (private)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self.most = max(self.most, *(memory_bytes([pid]) for pid in self._pids))


def _table(found: list[Found], sizes: Sizes) -> Table:
    table = Table(title=f"{sizes.keys:,} keys, {sizes.memory_mb} MB for a subtask of rocksdb")
    table.add_column("backend")
    for heading in ("visits/s", "of hashmap", "CPU of a visit", "of hashmap", "worker's peak"):
        table.add_column(heading, justify="right")
    plain = next(each for each in found if each.backend == "hashmap")
    for each in found:
        table.add_row(
            each.backend,
            f"{each.rate:,.0f}",
            f"{each.rate / plain.rate:.2f}",
            f"{each.cpu_us:.1f} µs",
            f"{plain.cpu_us / each.cpu_us:.2f}",
            f"{each.peak_mb:,.0f} MB",
        )
    return table


def main() -> None:
    """Take turns, print, and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    sizes = _QUICK if parser.parse_args().quick else _FULL
    adopt_orphans()
    console = Console()
    best: dict[str, Found] = {}
    for _ in range(sizes.rounds):
        for backend in ("hashmap", "rocksdb"):
            found = measured(backend, sizes)
            console.print(f"  {found}", highlight=False)
            if backend not in best or found.rate > best[backend].rate:
                best[backend] = found
    console.print(_table(list(best.values()), sizes))
    ratio = best["rocksdb"].rate / best["hashmap"].rate
    console.print(f"rocksdb has {ratio:.2f} of the rate of hashmap; wanted: {_WANTED}")
    results = CACHE / "results"
    results.mkdir(parents=True, exist_ok=True)
    stored = {"sizes": asdict(sizes), "found": [asdict(each) for each in best.values()]}
    (results / "many_keys.json").write_text(json.dumps(stored, indent=2))


if __name__ == "__main__":
    main()
