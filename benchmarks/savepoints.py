"""What a savepoint of a million keys takes, and a restore from it: ``python -m benchmarks.savepoints``.

A job of parallelism 2 is filled with a million keys; then a savepoint is taken, from the request to the
complete folder, and the job is cancelled. The same job starts from it at parallelism 3, from its submission
until every keyed subtask has its state, and until each has its first record. Memory is that of the largest
worker of the keyed function: what it has before the savepoint, with half of the keys, and by how much more it
had meanwhile; and the most that one had during the restore, with a third of the keys. The limit is one process
with nothing but pyarrow, numpy and dicts, which writes and reads the same columns.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.savepoint_job import SHAPES, SavepointJob
from benchmarks.setup_peers import CACHE

_KEYS: Final = 1_000_000
_QUICK_KEYS: Final = 100_000
_ROUNDS: Final = 3
_BEFORE, _AFTER = 2, 3
_NEVER: Final = "10000 h"
_WANTED_S: Final = 10.0
_SAMPLE_S: Final = 0.02


class Watch:
    """Looks often at what processes have in memory, and at the seconds that they computed."""

    def __init__(self, processes: Callable[[], list[int]]) -> None:
        self._processes = processes
        self._began: dict[int, float] = {}
        self._most: dict[int, int] = {}
        self._over = Event()
        self._thread = Thread(target=self._look_often, daemon=True)
        self._thread.start()

    def end(self) -> tuple[dict[int, int], float]:
        """The most bytes that each process had, and how long they computed, all together."""
        self._over.set()
        self._thread.join()
        now = looked_at(self._processes())
        return self._most, sum(
            computed - self._began.get(pid, computed) for pid, (_, computed) in now.items()
        )

    def _look_often(self) -> None:
        while not self._over.wait(_SAMPLE_S):
            for pid, (size, computed) in looked_at(self._processes()).items():
                self._began.setdefault(pid, computed)
                self._most[pid] = max(size, self._most.get(pid, 0))


def looked_at(processes: list[int]) -> dict[int, tuple[int, float]]:
    """The bytes that each process has in memory, and the seconds that it computed."""
    found = {}
    for pid in processes:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            times = process.cpu_times()
            found[pid] = process.memory_info().rss, times.user + times.system
    return found


@dataclass(frozen=True, slots=True)
class Round:
    """One savepoint and one restore."""

    savepoint_s: float
    savepoint_cpu_s: float
    """Of the workers of the keyed function, all together; also ``restore_cpu_s``."""
    pause_ms: float
    """The longest synchronous part: for so long a subtask took no records."""
    held_mb: float
    grew_mb: float
    folder_mb: float
    opened_s: float
    flows_s: float
    restore_cpu_s: float
    restore_mb: float
    write_limit_s: float
    read_limit_s: float


def measured(backend: str, shape: str, keys: int, folder: Path) -> Round:
    """One round."""
    config = {"state.backend.type": backend, "execution.checkpointing.interval": _NEVER}
    job = SavepointJob(shape, folder / "first", config, keys, _BEFORE)
    try:
        job.await_filled()
        base = {pid: size for pid, (size, _) in looked_at(job.processes()).items()}
        watch = Watch(job.processes)
        started = time.monotonic()
        location = job.client.trigger_savepoint(str(folder / "savepoints")).result()
        savepoint_s = time.monotonic() - started
        most, savepoint_cpu_s = watch.end()
        pause_ms = _longest_pause(job.client.get_checkpoints())
    finally:
        job.cancel()
    again = {**config, "execution.state-recovery.path": location}
    job = SavepointJob(shape, folder / "second", again, keys, _AFTER)
    try:
        watch = Watch(job.processes)
        opened_s = job.await_all("opened")
        flows_s = job.await_all("flows")
        during, restore_cpu_s = watch.end()
    finally:
        job.cancel()
    size = sum(path.stat().st_size for path in Path(location).rglob("*") if path.is_file())
    limits = limit(shape, keys, folder / "limit.parquet")
    return Round(
        savepoint_s=savepoint_s,
        savepoint_cpu_s=savepoint_cpu_s,
        pause_ms=pause_ms,
        held_mb=max(base.values()) / 1e6,
        grew_mb=max(most[pid] - base[pid] for pid in base) / 1e6,
        folder_mb=size / 1e6,
        opened_s=opened_s,
        flows_s=flows_s,
        restore_cpu_s=restore_cpu_s,
        restore_mb=max(during.values()) / 1e6,
        write_limit_s=limits[0],
        read_limit_s=limits[1],
    )


def _longest_pause(checkpoints: Any) -> float:
    tasks = checkpoints.latest.savepoint.tasks
    return max(float(one.times.sync_ms) for task in tasks.values() for one in task.subtasks)


def limit(shape: str, keys: int, path: Path) -> tuple[float, float]:
    """Seconds to write a dict as the same columns, and to make it again from them."""
    found = SHAPES[shape]
    held = {found.key(number): found.value(number) for number in range(keys)}
    started = time.monotonic()
    columns = [pa.array(list(held))]
    values = list(held.values())
    if isinstance(values[0], int):
        columns.append(pa.array(values))
    else:
        columns += map(pa.array, zip(*map(tuple, values), strict=True))
    names = [f"c{number}" for number in range(len(columns))]
    pq.write_table(pa.table(columns, names), path, compression="zstd")
    wrote = time.monotonic() - started
    del held, values, columns
    started = time.monotonic()
    first, *rest = (column.to_numpy().tolist() for column in pq.read_table(path).columns)
    dict(zip(first, zip(*rest, strict=True), strict=True))
    return wrote, time.monotonic() - started


def main() -> int:
    """Measure, print the table, save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.savepoints", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer keys, one round; not to quote")
    parser.add_argument("--keys", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--backend", action="append", choices=("hashmap", "rocksdb"))
    parser.add_argument("--shape", action="append", choices=SHAPES)
    given = parser.parse_args()
    keys = given.keys or (_QUICK_KEYS if given.quick else _KEYS)
    console = Console(width=max(170, Console().width))
    found: dict[tuple[str, str], list[Round]] = {}
    for turn in range(given.rounds or (1 if given.quick else _ROUNDS)):
        for backend in given.backend or ("hashmap", "rocksdb"):
            for shape in given.shape or SHAPES:
                with tempfile.TemporaryDirectory() as folder:
                    one = measured(backend, shape, keys, Path(folder))
                found.setdefault((backend, shape), []).append(one)
                console.print(
                    f"  round {turn + 1}, {backend}, {shape}: savepoint {one.savepoint_s:.2f} s (CPU "
                    f"{one.savepoint_cpu_s:.1f}, pause {one.pause_ms:.0f} ms, + {one.grew_mb:.0f} MB), "
                    f"restore {one.flows_s:.2f} s (CPU {one.restore_cpu_s:.1f})",
                    highlight=False,
                )
    console.print(_table(found, keys))
    console.print(f"figures: {_save(found, keys)}")
    return 0


def _table(found: Mapping[tuple[str, str], list[Round]], keys: int) -> Table:
    columns = ("savepoint", "of the limit", "CPU", "pause", "memory", "size", "restored", "records")
    title = f"{keys:,} keys, parallelism {_BEFORE} to {_AFTER}; wanted: {_WANTED_S:.0f} s each"
    table = Table("backend", "state", *columns, "of the limit", "CPU", "memory", "", title=title)
    for (backend, shape), rounds in found.items():
        median = Round(**{name: _median(rounds, name) for name in Round.__slots__})
        met = max(median.savepoint_s, median.flows_s) <= _WANTED_S
        table.add_row(
            backend,
            shape,
            f"{median.savepoint_s:.2f} s",
            f"{median.savepoint_s / median.write_limit_s:.1f} x",
            f"{median.savepoint_cpu_s:.1f} s",
            f"{median.pause_ms:.0f} ms",
            f"{median.held_mb:.0f} + {median.grew_mb:.0f} MB",
            f"{median.folder_mb:.1f} MB",
            f"{median.opened_s:.2f} s",
            f"{median.flows_s:.2f} s",
            f"{median.flows_s / median.read_limit_s:.1f} x",
            f"{median.restore_cpu_s:.1f} s",
            f"{median.restore_mb:.0f} MB",
            "[green]met[/]" if met else "[red]missed[/]",
        )
    return table


def _median(rounds: list[Round], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in rounds))


def _save(found: Mapping[tuple[str, str], list[Round]], keys: int) -> Path:
    now = datetime.now(UTC)
    path = CACHE / "results" / f"savepoints-{now:%Y-%m-%dT%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rounds = [
        {"backend": backend, "state": shape, "rounds": list(map(asdict, each))}
        for (backend, shape), each in found.items()
    ]
    path.write_text(json.dumps({"date": now.isoformat(), "keys": keys, "found": rounds}, indent=2))
    return path


if __name__ == "__main__":
    raise SystemExit(main())
