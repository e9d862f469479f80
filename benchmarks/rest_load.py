"""What the REST interface takes from a job, and how long it lets callers wait: ``python -m benchmarks.rest_load``.

A job runs at full load in a session. Spans with a load of requests alternate with spans without; the
records of each span are counted by the job itself, which notes the time of every so many. The requests
come from a process of their own at fixed times, whether or not earlier ones were answered, and each waits
from the time when it was due.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
_CONNECTIONS: Final = 16
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


class Caller(asyncio.Protocol):
    """One connection: requests go one after another, each as soon as the one before is answered."""

    def __init__(self, waits: list[float], wrong: list[bytes]) -> None:
        self._waits = waits
        self._wrong = wrong
        self._due: deque[tuple[float, bytes]] = deque()
        self._asked: float | None = None
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        self._transport: Any = transport

    def ask(self, due: float, request: bytes) -> None:
        """Send a request now, or when it is its turn."""
        self._due.append((due, request))
        self._next()

    def data_received(self, data: bytes) -> None:
        """An answer, or a part of one."""
        self._heard += data
        head, found, body = self._heard.partition(b"\r\n\r\n")
        if not found or self._asked is None:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._waits.append(time.monotonic() - self._asked)
        if not head.startswith(b"HTTP/1.1 200"):
            self._wrong.append(head)
        self._heard, self._asked = b"", None
        self._next()

    def _next(self) -> None:
        if self._asked is None and self._due:
            self._asked, request = self._due.popleft()
            self._transport.write(request)


async def call(host: str, port: int, paths: Sequence[str], rate: int, seconds: float) -> Any:
    """Ask ``rate`` times a second; how long each waited, in seconds, and answers that are none."""
    waits: list[float] = []
    wrong: list[bytes] = []
    loop = asyncio.get_running_loop()
    callers = [
        (await loop.create_connection(lambda: Caller(waits, wrong), host, port))[1]
        for _ in range(_CONNECTIONS)
    ]
    requests = [f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for path in paths]
    random.Random(7).shuffle(requests)
    start = time.monotonic()
    total, sent = int(rate * seconds), 0
    while sent < total:
        now = time.monotonic()
        while sent < total and (due := start + sent / rate) <= now:
            callers[sent % _CONNECTIONS].ask(due, requests[sent % len(requests)])
            sent += 1
        await asyncio.sleep(0.001)
    while len(waits) < total and time.monotonic() < start + seconds + 30:  # noqa: ASYNC110 (counts)
        await asyncio.sleep(0.05)
    return {"waits": waits, "wrong": len(wrong), "asked": total}


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
        [sys.executable, "-m", "benchmarks.rest_load", "--call", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ended.stdout)


def measure(rate: int, seconds: float, spans: int, parallelism: int) -> Table:
    """Alternate spans with and without requests."""
    table = Table("span", "records/s", "requests/s", "p50 ms", "p99 ms", "max ms", "JobManager CPU")
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
            start, cpu = time.monotonic(), sum(process.cpu_times()[:2])
            found: Any = None
            if with_load:
                found = loaded(url, paths, rate, seconds)
            else:
                time.sleep(seconds)
            end, used = time.monotonic(), sum(process.cpu_times()[:2]) - cpu
            time.sleep(_SETTLE_S)
            rates[with_load].append(rate_between(notes, start, end))
            table.add_row(*_row(rates[with_load][-1], found, end - start, used))
        job.cancel().result()
        env.close()
    ratio = median(rates[True]) / median(rates[False])
    table.caption = f"records/s with requests over without (medians): {ratio:.3f}"
    return table


def _row(records: float, found: Any, seconds: float, cpu: float) -> list[str]:
    share = f"{100 * cpu / seconds:.0f} %"
    if found is None:
        return ["alone", f"{records:,.0f}", "", "", "", "", share]
    waits = sorted(1000 * wait for wait in found["waits"])
    cuts = quantiles(waits, n=100)
    figures = [f"{each:.1f}" for each in (cuts[49], cuts[98], waits[-1])]
    name = "with requests" if not found["wrong"] else f"{found['wrong']} answers were no 200"
    return [name, f"{records:,.0f}", f"{len(waits) / seconds:,.0f}", *figures, share]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--spans", type=int, default=2)
    parser.add_argument("--parallelism", type=int, default=1)
    parser.add_argument("--call", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.call:
        url, paths, rate, seconds = given.call
        host, _, port = url.rpartition("/")[2].partition(":")
        found = asyncio.run(call(host, int(port), json.loads(paths), int(rate), float(seconds)))
        sys.stdout.write(json.dumps(found))
        return
    table = measure(given.rate, given.seconds, given.spans, given.parallelism)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
