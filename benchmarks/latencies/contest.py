"""Which systems are measured, at which rate and with which settings, and how one run of each is started."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.latencies.timed import SHARES, WARM_UP_SECONDS, latencies_ms, quantile
from benchmarks.setup_peers import CACHE, PEERS, ROOT, ensure
from riverrun.spark.java import ensure_java_home

RATE: Final = 10_000
BUFFER_TIMEOUTS_MS: Final = (0, 1, 5, 10, 50)
_DEADLINE_SECONDS: Final = 300
_LAST_LINES: Final = 25
_SLOW_START_SECONDS: Final = 20


class RunFailed(RuntimeError):  # noqa: N818 - reads as the fact it reports
    """A measured process left no samples; the message holds the end of its output."""


@dataclass(frozen=True)
class Entry:
    """A system as it takes part.

    Attributes:
        name: In tables and on the command line.
        module: What runs it.
        peer: The environment that it runs in; empty: ours.
        rate: Records a second: the common rate, or what the system can take if that is less.
        settings: Flags of the module, tuned for latency.
        warm_up: Seconds that do not count; longer where workers start while records come already.
    """

    name: str
    module: str
    peer: str = ""
    rate: int = RATE
    settings: Mapping[str, str] = field(default_factory=dict)
    warm_up: int = WARM_UP_SECONDS

    def described(self) -> dict[str, str]:
        """Rate and settings, for tables and charts."""
        return {"records/s": f"{self.rate:,}", **self.settings}

    def command(self, seconds: int, folder: str) -> list[str]:
        """What starts one run."""
        python = str(ensure(PEERS[self.peer])) if self.peer else sys.executable
        flags = [
            part
            for name, value in self.settings.items()
            for part in (f"--{name.replace('_', '-')}", value)
        ]
        sizes = ["--rate", str(self.rate), "--seconds", str(seconds), "--folder", folder]
        return [python, "-m", self.module, *sizes, "--warm-up", str(self.warm_up), *flags]

    def run(self, seconds: int) -> list[float]:
        """The sorted latencies of one run, in milliseconds.

        Raises:
            RunFailed: If it leaves none within the deadline.
        """
        with tempfile.TemporaryDirectory() as folder:
            text, code = _output_of(self.name, self.command(seconds, folder))
            ordered = latencies_ms(Path(folder), seconds, self.warm_up)
        if code != 0 or not ordered:
            found = f"ran past {_DEADLINE_SECONDS} s" if code is None else f"ended with {code}"
            last = "\n".join(text.splitlines()[-_LAST_LINES:])
            raise RunFailed(f"{self.name}: {found} and {len(ordered)} samples:\n{last}")
        return ordered


def _output_of(name: str, command: list[str]) -> tuple[str, int | None]:
    log = CACHE / "logs" / f"latency-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    ensure_java_home(environment)
    environment["PYTHONPATH"] = str(ROOT)
    environment["PYTHONHASHSEED"] = "0"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code: int | None = process.wait(_DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
    return log.read_text(errors="replace"), code


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    # JVMs and workers are in the group too; one left behind would spoil the next measurement.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


_PYFLINK: Final = "benchmarks.peers.latency_pyflink"
_ENGINE: Final = "benchmarks.latencies.engine"

RIVERRUN: Final = Entry("riverrun", _ENGINE)
"""As it comes: no setting is changed."""

ENTRIES: Final = (
    RIVERRUN,
    Entry(
        "pyflink",
        _PYFLINK,
        "pyflink",
        1_000,
        {"bundle_time": "5", "buffer_timeout": "1"},
        _SLOW_START_SECONDS,
    ),
    Entry(
        "pyflink-thread",
        _PYFLINK,
        "pyflink",
        5_000,
        {"mode": "thread", "buffer_timeout": "1"},
        _SLOW_START_SECONDS,
    ),
    Entry("bytewax", "benchmarks.peers.latency_bytewax", "bytewax"),
    Entry(
        "structured",
        "benchmarks.peers.latency_structured",
        rate=200,
        warm_up=_SLOW_START_SECONDS,
    ),
    Entry("pathway", "benchmarks.peers.latency_pathway", "pathway", settings={"commit": "5"}),
)


def by_buffer_timeout() -> list[Entry]:
    """Entries of riverrun, one with each buffer timeout."""
    return [
        Entry(f"riverrun, {ms} ms", _ENGINE, settings={"buffer_timeout": str(ms)})
        for ms in BUFFER_TIMEOUTS_MS
    ]


def curve_of(runs: list[list[float]]) -> list[tuple[float, float]]:
    """Each quantile as the median of the runs' quantiles: one disturbed run does not show.

    >>> curve_of([[1.0], [9.0], [2.0]])[0]
    (0.0, 2.0)
    """
    return [(share, median(quantile(run, share) for run in runs)) for share in SHARES]
