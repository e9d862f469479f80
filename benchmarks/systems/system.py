"""A measured system: how its workloads are started as processes of their own, and on how many records."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks.measurement import Measurement, flags, read
from benchmarks.resources import MemoryWatch
from benchmarks.setup_peers import CACHE, PEERS, ROOT, Peer, ensure
from riverrun.spark.java import ensure_java_home

DEADLINE_SECONDS: Final = 900
_LAST_LINES: Final = 25


class RunFailed(RuntimeError):  # noqa: N818 - reads as the fact it reports
    """A measured process gave no measurement; the message holds the end of its output."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Records of the small and of the large run of one measurement."""

    small: int
    large: int

    def quick(self) -> "Sizes":
        """A quarter or so: enough to see that everything runs, not to quote."""
        return Sizes(self.small // 2, self.large // 4)


@dataclass(frozen=True, slots=True)
class Case:
    """One workload on one system.

    Attributes:
        module: The module that measures it.
        sizes: A slow system gets fewer records, its rate is net of start-up anyway.
        flags: The settings that came out best for it.
    """

    module: str
    sizes: Sizes
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """A system and what to run of it.

    Attributes:
        name: Its name in tables and on the command line.
        cases: By workload; the system sits out where it has none.
        peer: The name of the environment that it runs in; empty: ours.
        left_out: By workload that it has no case for: why not, in words for the table's notes.
    """

    name: str
    cases: Mapping[str, Case]
    peer: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> Peer | None:
        """The peer whose environment it needs; None: ours."""
        return PEERS[self.peer] if self.peer else None

    @property
    def is_peer(self) -> bool:
        """Whether it is somebody else's, in whichever environment."""
        return any(case.module.startswith("benchmarks.peers.") for case in self.cases.values())

    def run(
        self, workload: str, *, quick: bool, deadline_seconds: float = DEADLINE_SECONDS
    ) -> Measurement:
        """One measurement in a session of its own, all of which has ended when this returns.

        Raises:
            RunFailed: If it gives none within the deadline.
        """
        case = self.cases[workload]
        sizes = case.sizes.quick() if quick else case.sizes
        peer = self.environment
        python = sys.executable if peer is None else str(ensure(peer))
        command = [python, "-m", case.module, *flags(workload, sizes.small, sizes.large)]
        command += case.flags
        measurement = _run(self.name, workload, command, deadline_seconds)
        return replace(measurement, system=self.name)


def _run(system: str, workload: str, command: list[str], deadline_seconds: float) -> Measurement:
    log = CACHE / "logs" / f"{system}-{workload}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    ensure_java_home(environment)
    environment["PYTHONPATH"] = str(ROOT)
    environment["PYTHONHASHSEED"] = "0"
    started = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        with MemoryWatch(process.pid) as watch:
            try:
                code: int | None = process.wait(deadline_seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process, watch)
    text = log.read_text(errors="replace")
    measurement = read(text)
    if code != 0 or measurement is None:
        found = f"ran past {deadline_seconds:g} s" if code is None else f"ended with {code}"
        last = "\n".join(text.splitlines()[-_LAST_LINES:])
        where = str(log.relative_to(ROOT))
        raise RunFailed(f"{system} {workload}: {found}, log {where!r}:\n{last}")
    took = time.monotonic() - started
    return replace(measurement, peak_bytes=watch.peak_bytes, cell_seconds=round(took, 1))


def _end(process: "subprocess.Popen[bytes]", watch: MemoryWatch) -> None:
    # JVMs and workers are in the group too, others lead sessions of their own; one left behind
    # would spoil the next measurement.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in watch.survivors():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
