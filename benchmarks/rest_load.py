"""What the REST interface takes from a job, and how long it lets callers wait: ``python -m benchmarks.rest_load``.

A job runs at full load in a session. Spans with a load of requests alternate with spans without; the
records of each span are counted by the job itself, which notes the time of every so many. The requests
come from a process of their own at fixed times, whether or not earlier ones were answered, and each waits
from the time when it was due.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import psutil
from rich.console import Console
from rich.table import Table

from riverrun import Configuration, MapFunction, RuntimeContext, StreamExecutionEnvironment
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink

_EVERY: Final = 20_000
_SETTLE_S: Final = 2.0
_JOB_MANAGER: Final = """
import json, sys
from riverrun.jobmanager.process import run_job_manager
run_job_manager(json.loads(sys.argv[1]), lambda cluster: print(cluster.url, flush=True))
"""


class Tell(MapFunction):
    """Notes the time of every so many records."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        """Begin a file for this subtask."""
        subtask = runtime_context.get_index_of_this_subtask()
        self._file = Path(f"{self._path}-{subtask}").open("a", buffering=1)  # noqa: SIM115

    def map(self, value: Any) -> Any:
        """The value itself."""
        self._seen += 1
        if self._seen % _EVERY == 0:
            self._file.write(f"{time.monotonic()} {self._seen}\n")
        return value


@contextmanager
def session(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A JobManager in a process of its own: where it is, and the process."""
    config = {"riverrun.master": "local[2]", "rest.port": "0"}
    process = subprocess.Popen(
        [sys.executable, "-c", _JOB_MANAGER, json.dumps(config)],
        env={**os.environ, "RIVERRUN_STATE_DIR": str(folder / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield (
            process.stdout.readline().strip() if process.stdout else "",
            psutil.Process(process.pid),
        )
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=90)


def paths_of(url: str, job: str) -> list[str]:
    """A page that shows one job asks for these."""
    with urllib.request.urlopen(f"{url}/jobs/{job}") as answer:
        vertices = [vertex["id"] for vertex in json.load(answer)["vertices"]]
    return [
        "/overview",
        "/jobs/overview",
        f"/jobs/{job}",
        f"/jobs/{job}/checkpoints",
        f"/jobs/{job}/exceptions",
        f"/jobs/{job}/metrics?get=uptime,numRestarts",
        *(f"/jobs/{job}/vertices/{vertex}" for vertex in vertices),
        *(f"/jobs/{job}/vertices/{vertex}/backpressure" for vertex in vertices),
        *(
            f"/jobs/{job}/vertices/{vertex}/subtasks/metrics?get=numRecordsOut"
            for vertex in vertices
        ),
    ]


def cpu_seconds(manager: psutil.Process) -> dict[str, float]:
    """What each part has used so far: the JobManager itself, Spark's JVM, the workers."""
    used = {"manager": sum(manager.cpu_times()[:2]), "jvm": 0.0, "workers": 0.0}
    for process in manager.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            part = "jvm" if "java" in process.name() else "workers"
            used[part] += sum(process.cpu_times()[:2])
    return used


def rate_between(notes: Path, start: float, end: float) -> float:
    """Records per second between two times, over all subtasks."""
    total = 0.0
    for path in notes.parent.glob(f"{notes.name}-*"):
        points = [tuple(map(float, line.split())) for line in path.read_text().splitlines()]
        within = [point for point in points if start <= point[0] <= end]
        (first, seen), (last, seen_last) = within[0], within[-1]
        total += (seen_last - seen) / (last - first)
    return total


def loaded(url: str, paths: Sequence[str], rate: int, seconds: float) -> Any:
    """A load of requests from a process of its own."""
    arguments = [url, json.dumps(list(paths)), str(rate), str(seconds)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.rest_callers", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ended.stdout)


def measure(rate: int, seconds: float, spans: int, parallelism: int) -> Table:
    """Alternate spans with and without requests."""
    columns = ("span", "records/s", "requests/s", "p50 ms", "p99 ms", "max ms")
    table = Table(*columns, "CPU: JobManager", "JVM", "workers", "callers")
    rates: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as name, session(Path(name)) as (url, process):
        notes = Path(name) / "notes"
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration(
                {
                    "riverrun.master": url,
                    "parallelism.default": str(parallelism),
                    "execution.checkpointing.interval": "5 s",
                    "execution.checkpointing.dir": Path(name, "checkpoints").as_uri(),
                }
            )
        )
        source = DataGeneratorSource(lambda i: (i % 1000, 1))
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        summed = stream.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
        summed.map(Tell(str(notes))).sink_to(DiscardingSink())
        job = env.execute_async("full load")
        while not list(notes.parent.glob("notes-*")):
            time.sleep(0.5)
        time.sleep(5 * _SETTLE_S)
        paths = paths_of(url, str(job.get_job_id()))
        for span in range(2 * spans):
            with_load = span % 2 == 1
            start, before = time.monotonic(), cpu_seconds(process)
            found: Any = None
            if with_load:
                found = loaded(url, paths, rate, seconds)
            else:
                time.sleep(seconds)
            end, after = time.monotonic(), cpu_seconds(process)
            used = {part: (after[part] - before[part]) / (end - start) for part in before}
            if found is not None:
                start, end = found["start"], found["end"]
            time.sleep(_SETTLE_S)
            rates[with_load].append(rate_between(notes, start, end))
            table.add_row(*_row(rates[with_load][-1], found, end - start, used))
        job.cancel().result()
        env.close()
    ratio = median(rates[True]) / median(rates[False])
    table.caption = f"records/s with requests over without (medians): {ratio:.3f}"
    return table


def _row(records: float, found: Any, seconds: float, used: Mapping[str, float]) -> list[str]:
    shares = [f"{100 * share:.0f} %" for share in used.values()]
    if found is None:
        return ["alone", f"{records:,.0f}", "", "", "", "", *shares, ""]
    waits = sorted(1000 * wait for wait in found["waits"])
    cuts = quantiles(waits, n=100)
    figures = [f"{each:.1f}" for each in (cuts[49], cuts[98], waits[-1])]
    name = "with requests" if not found["wrong"] else f"{found['wrong']} answers were no 200"
    rate = f"{len(waits) / seconds:,.0f}"
    return [
        name,
        f"{records:,.0f}",
        rate,
        *figures,
        *shares,
        f"{100 * found['cpu'] / seconds:.0f} %",
    ]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--spans", type=int, default=2)
    parser.add_argument("--parallelism", type=int, default=1)
    given = parser.parse_args()
    table = measure(given.rate, given.seconds, given.spans, given.parallelism)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
