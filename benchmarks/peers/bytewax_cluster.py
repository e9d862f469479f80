# ruff: noqa: ARG002  # the arguments are those of Bytewax's interfaces
"""A dataflow on Bytewax as a cluster of processes of one worker each, timed; run with Bytewax's own interpreter.

Processes retry their connections in steps of a second, which would drown what is measured, so time
counts from the first batch that a source is asked for until the last sink closes.
"""

import argparse
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from benchmarks.measurement import parallelism_of

CLUSTER_SETTINGS = {"batch": "5000", "snapshot_interval": "3600"}
_RESULTS = "BENCH_RESULTS"


def setting(name: str) -> str:
    """What the environment of this process says of the run."""
    return os.environ[f"BENCH_{name.upper()}"]


def _stamp(moment: str) -> None:
    # The monotonic clock is one for all processes of a machine.
    stamp = Path(setting("stamps"), f"{moment}-{os.getpid()}")
    stamp.write_text(str(time.monotonic()))


class _Part(StatelessSourcePartition[Any]):
    def __init__(self, make: Callable[[int], Any], indexes: range, batch: int) -> None:
        self._make = make
        self._indexes = indexes
        self._batch = batch
        self._asked = False

    def next_batch(self) -> list[Any]:
        if not self._asked:
            self._asked = True
            _stamp("first")
        if not self._indexes:
            raise StopIteration
        now, self._indexes = self._indexes[: self._batch], self._indexes[self._batch :]
        make = self._make
        return [make(index) for index in now]


class Generated(DynamicSource[Any]):
    """A record for each index; each worker makes its share of them."""

    def __init__(self, make: Callable[[int], Any], share: Callable[[int, int, int], range]) -> None:
        self._make = make
        self._share = share

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Part:
        """What one worker makes."""
        indexes = self._share(int(setting("records")), worker_index, worker_count)
        return _Part(self._make, indexes, int(setting("batch")))


class _Discard(StatelessSinkPartition[Any]):
    def write_batch(self, items: list[Any]) -> None:
        pass

    def close(self) -> None:
        _stamp("last")


class _Keep(_Discard):
    def __init__(self, step_id: str) -> None:
        self._step = step_id.rpartition(".")[2]
        self._items: list[Any] = []

    def write_batch(self, items: list[Any]) -> None:
        self._items += items

    def close(self) -> None:
        results = Path(os.environ[_RESULTS], f"{self._step}-{os.getpid()}")
        results.write_bytes(pickle.dumps(self._items))
        super().close()


class DiscardingSink(DynamicSink[Any]):
    """Takes everything and keeps nothing, unless results are asked for; notes when it is closed."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Discard:
        """The sink of one worker."""
        return _Keep(step_id) if _RESULTS in os.environ else _Discard()


def seconds_of(flow: str, arguments: argparse.Namespace, records: int) -> float:
    """Seconds from the first batch asked for in any process to the last sink closed."""
    with tempfile.TemporaryDirectory() as stamps:
        _run(flow, arguments, records, {"BENCH_STAMPS": stamps})
        first = [float(path.read_text()) for path in Path(stamps).glob("first-*")]
        last = [float(path.read_text()) for path in Path(stamps).glob("last-*")]
    return max(last) - min(first)


def results_of(flow: str, arguments: argparse.Namespace, records: int) -> dict[str, list[Any]]:
    """What came to each sink, by the sink's name, in any order."""
    found: dict[str, list[Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "stamps").mkdir()
        _run(flow, arguments, records, {"BENCH_STAMPS": f"{folder}/stamps", _RESULTS: folder})
        for path in Path(folder).glob("*-*"):
            found.setdefault(path.name.partition("-")[0], []).extend(
                pickle.loads(path.read_bytes())
            )
    return found


def _run(flow: str, arguments: argparse.Namespace, records: int, folders: dict[str, str]) -> None:
    workers = parallelism_of(arguments.workload)
    settings = {f"BENCH_{name.upper()}": str(value) for name, value in vars(arguments).items()}
    environment = os.environ | settings | folders | {"BENCH_RECORDS": str(records)}
    command = [sys.executable, "-m", "bytewax.run", flow, "-s", arguments.snapshot_interval]
    if workers > 1:
        command += ["-a", ";".join(f"127.0.0.1:{port}" for port in _free_ports(workers)), "-i"]
    processes = [
        subprocess.Popen([*command, str(place)] if workers > 1 else command, env=environment)
        for place in range(workers)
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"bytewax processes ended with {codes}, expected 0")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
