"""A program on Pathway as processes of one worker each, timed; run with Pathway's own interpreter.

The indexes of the records wait in files, written before time counts, which all processes read: a Python connector
would run in the first process only, and take longer. Pathway commits what it has read file by file, ``chunk``
indexes each, and ends when it has read them all.

Pathway reports nothing to anybody without a licence key or a monitoring server, and here it gets neither.
Time counts from when the last process is about to run its program until the last one has come to its end.
"""

import argparse
import os
import pickle
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pathway as pw

from benchmarks.measurement import measure, parallelism_of
from benchmarks.workloads import JOIN

PROCESS_SETTINGS = {"chunk": "20000"}
_NOT_PASSED_ON = ("PATHWAY_LICENSE_KEY", "PATHWAY_MONITORING_SERVER")
_RESULTS = "BENCH_RESULTS"


class _Index(pw.Schema):
    index: int


def setting(name: str) -> str:
    """What the environment of this process says of the run."""
    return os.environ[f"BENCH_{name.upper()}"]


def indexes() -> pw.Table:
    """A row for each index."""
    return pw.io.csv.read(setting("indexes"), schema=_Index, mode="static")


def _stamp(moment: str) -> None:
    # The monotonic clock is one for all processes of a machine.
    Path(setting("stamps"), f"{moment}-{os.getpid()}").write_text(str(time.monotonic()))


def _execute(build: Callable[[str], pw.Table]) -> None:
    """Build and run, in one of the processes, what its environment describes."""
    result = build(setting("workload"))
    changes: Counter[tuple[Any, ...]] = Counter()
    if _RESULTS in os.environ:

        def count(key: Any, row: Mapping[str, Any], time: int, is_addition: bool) -> None:  # noqa: FBT001
            del key, time
            changes[tuple(row.values())] += 1 if is_addition else -1

        pw.io.subscribe(result, on_change=count)
    else:
        pw.io.null.write(result)
    _stamp("first")
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    _stamp("last")
    if _RESULTS in os.environ:
        Path(os.environ[_RESULTS], f"rows-{os.getpid()}").write_bytes(pickle.dumps(changes))


def seconds_of(module: str, arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the last process that is ready to the last one that has ended."""
    with _run(module, arguments, records) as folder:
        first = [float(path.read_text()) for path in folder.glob("first-*")]
        last = [float(path.read_text()) for path in folder.glob("last-*")]
    return max(last) - max(first)


def results_of(
    module: str, arguments: argparse.Namespace, records: int
) -> Counter[tuple[Any, ...]]:
    """The rows of the result after all changes, and how often each is in it."""
    rows: Counter[tuple[Any, ...]] = Counter()
    with _run(module, arguments, records, keep=True) as folder:
        for path in folder.glob("rows-*"):
            rows.update(pickle.loads(path.read_bytes()))
    return Counter({row: count for row, count in rows.items() if count})


@contextmanager
def _run(
    module: str, arguments: argparse.Namespace, records: int, *, keep: bool = False
) -> Iterator[Path]:
    workers = parallelism_of(arguments.workload)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = records // 2 if arguments.workload == JOIN else records
        _write_indexes(folder / "indexes", count, int(arguments.chunk))
        settings = {f"BENCH_{name.upper()}": str(value) for name, value in vars(arguments).items()}
        environment = {name: os.environ[name] for name in os.environ if name not in _NOT_PASSED_ON}
        environment |= settings | {
            "BENCH_INDEXES": str(folder / "indexes"),
            "BENCH_STAMPS": name,
            "PATHWAY_PROCESSES": str(workers),
            "PATHWAY_THREADS": "1",
            "PATHWAY_FIRST_PORT": str(_first_port(workers)),
        }
        if keep:
            environment[_RESULTS] = name
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", module],
                env=environment | {"PATHWAY_PROCESS_ID": str(process)},
            )
            for process in range(workers)
        ]
        codes = [process.wait() for process in processes]
        if any(codes):
            raise SystemExit(f"pathway processes ended with {codes}, expected 0")
        yield folder


def _write_indexes(folder: Path, records: int, chunk: int) -> None:
    folder.mkdir()
    for start in range(0, records, chunk):
        lines = [f"{index}\n" for index in range(start, min(start + chunk, records))]
        (folder / f"{start:012}.csv").write_text("index\n" + "".join(lines))


def _first_port(count: int) -> int:
    """The first of so many ports in a row that are free, below those that connections are given."""
    for first in random.sample(range(20_000, 32_000), 1_000):
        try:
            for port in range(first, first + count):
                with socket.socket() as found:
                    found.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise SystemExit(f"pathway: found no {count} free ports in a row, expected some above 20000")


def main(
    module: str,
    build: Callable[[str], pw.Table],
    settings: Mapping[str, str],
    workloads: tuple[str, ...],
) -> None:
    """Measure, or be one of the processes that are measured.

    Args:
        module: The one that calls this, which the processes run too.
        build: Makes the result of a workload.
        settings: Of the command line, with their defaults.
        workloads: What ``build`` knows.
    """
    if "PATHWAY_PROCESS_ID" in os.environ:
        _execute(build)
    else:
        measure("pathway", lambda *run: seconds_of(module, *run), settings, workloads)
