"""The measured systems: how each is started as a process of its own, and on how many records."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks.measurement import Measurement, flags, read
from benchmarks.setup_peers import CACHE, PEERS, ROOT, Peer, ensure
from benchmarks.workloads import KEYED, STATE, STATELESS, WINDOWS
from riverrun.spark.java import ensure_java_home

_DEADLINE_SECONDS: Final = 900
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
class System:
    """A system and what to run of it.

    Attributes:
        name: Its name in tables and on the command line.
        module: The module that measures it.
        sizes: By workload; a slow system gets fewer records, its rate is net of start-up anyway.
        settings: By workload: the flags that came out best for it.
        peer: The environment that it runs in, where that is not its name.
    """

    name: str
    module: str
    sizes: Mapping[str, Sizes]
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    peer: str = ""

    @property
    def environment(self) -> Peer | None:
        """The peer whose environment it needs; None: ours."""
        return PEERS.get(self.peer or self.name)

    @property
    def is_peer(self) -> bool:
        """Whether it is somebody else's, in whichever environment."""
        return self.module.startswith("benchmarks.peers.")

    def run(self, workload: str, *, quick: bool) -> Measurement:
        """One measurement in a process group of its own, which has ended when this returns.

        Raises:
            RunFailed: If it gives none within the deadline.
        """
        sizes = self.sizes[workload].quick() if quick else self.sizes[workload]
        peer = self.environment
        python = sys.executable if peer is None else str(ensure(peer))
        command = [python, "-m", self.module, *flags(workload, sizes.small, sizes.large)]
        command += self.settings.get(workload, ())
        return replace(_run(self.name, workload, command), system=self.name)


SYSTEMS: Final[Mapping[str, System]] = {
    system.name: system
    for system in (
        System(
            "baseline",
            "benchmarks.baseline",
            {STATELESS: Sizes(1_000_000, 11_000_000), KEYED: Sizes(1_000_000, 11_000_000)},
        ),
        System(
            "riverrun",
            "benchmarks.engine",
            {STATELESS: Sizes(1_000_000, 11_000_000), KEYED: Sizes(1_000_000, 11_000_000)},
        ),
        System(
            "bytewax",
            "benchmarks.peers.bytewax_peer",
            {STATELESS: Sizes(500_000, 5_500_000), KEYED: Sizes(200_000, 2_200_000)},
            {STATELESS: ("--batch", "5000"), KEYED: ("--batch", "5000", "--logic", "batch")},
        ),
        System(
            "pyflink",
            "benchmarks.peers.pyflink_peer",
            {STATELESS: Sizes(200_000, 1_700_000), KEYED: Sizes(200_000, 1_200_000)},
            {
                STATELESS: ("--bundle-size", "10000", "--bundle-time", "1000"),
                KEYED: ("--bundle-size", "300000", "--bundle-time", "60000"),
            },
        ),
        System(
            "pyflink-thread",
            "benchmarks.peers.pyflink_peer",
            {STATELESS: Sizes(200_000, 1_700_000), KEYED: Sizes(200_000, 1_200_000)},
            {STATELESS: ("--mode", "thread"), KEYED: ("--mode", "thread")},
            peer="pyflink",
        ),
        System(
            "structured",
            "benchmarks.peers.structured_streaming",
            {STATELESS: Sizes(1_000_000, 6_000_000), KEYED: Sizes(1_000_000, 4_000_000)},
            {KEYED: ("--logic", "pandas")},
        ),
        System(
            "pathway",
            "benchmarks.peers.pathway_peer",
            {STATELESS: Sizes(200_000, 2_200_000), KEYED: Sizes(200_000, 2_200_000)},
        ),
    )
}

STATE_SYSTEMS: Final[Mapping[str, System]] = {
    system.name: system
    for system in (
        System("baseline", "benchmarks.baseline", {STATE: Sizes(1_000_000, 11_000_000)}),
        System("riverrun", "benchmarks.engine", {STATE: Sizes(1_000_000, 9_000_000)}),
        System(
            "rocksdb",
            "benchmarks.engine",
            {STATE: Sizes(1_000_000, 9_000_000)},
            {STATE: ("--backend", "rocksdb")},
        ),
        System(
            "bytewax",
            "benchmarks.peers.bytewax_peer",
            {STATE: Sizes(200_000, 2_200_000)},
            {STATE: ("--batch", "5000")},
        ),
        System(
            "pyflink",
            "benchmarks.peers.pyflink_peer",
            {STATE: Sizes(200_000, 1_200_000)},
            {STATE: ("--bundle-size", "300000", "--bundle-time", "60000")},
        ),
        System(
            "pyflink-thread",
            "benchmarks.peers.pyflink_peer",
            {STATE: Sizes(200_000, 1_200_000)},
            {STATE: ("--mode", "thread")},
            peer="pyflink",
        ),
        System(
            "structured",
            "benchmarks.peers.structured_streaming",
            {STATE: Sizes(1_000_000, 4_000_000)},
            {STATE: ("--logic", "pandas")},
        ),
    )
}
"""For the ``state`` workload: riverrun's two backends side by side."""


WINDOW_SYSTEMS: Final[Mapping[str, System]] = {
    system.name: system
    for system in (
        System("baseline", "benchmarks.window_baseline", {WINDOWS: Sizes(1_000_000, 9_000_000)}),
        System("riverrun", "benchmarks.window_engine", {WINDOWS: Sizes(1_000_000, 9_000_000)}),
        System(
            "rocksdb",
            "benchmarks.window_engine",
            {WINDOWS: Sizes(1_000_000, 9_000_000)},
            {WINDOWS: ("--backend", "rocksdb")},
        ),
        System(
            "columns",
            "benchmarks.window_engine",
            {WINDOWS: Sizes(10_000_000, 110_000_000)},
            {WINDOWS: ("--logic", "columns")},
        ),
        System(
            "bytewax",
            "benchmarks.peers.bytewax_windows",
            {WINDOWS: Sizes(100_000, 1_100_000)},
        ),
        System(
            "pyflink",
            "benchmarks.peers.pyflink_windows",
            {WINDOWS: Sizes(100_000, 600_000)},
            {WINDOWS: ("--bundle-size", "100000", "--bundle-time", "1000", "--types", "pickled")},
        ),
        System(
            "pyflink-thread",
            "benchmarks.peers.pyflink_windows",
            {WINDOWS: Sizes(100_000, 600_000)},
            {WINDOWS: ("--mode", "thread", "--types", "pickled")},
            peer="pyflink",
        ),
        System(
            "flink-sql",
            "benchmarks.peers.flink_sql_windows",
            {WINDOWS: Sizes(10_000_000, 110_000_000)},
            peer="pyflink",
        ),
        System(
            "spark-sql",
            "benchmarks.peers.structured_streaming",
            {WINDOWS: Sizes(10_000_000, 60_000_000)},
            {WINDOWS: ("--batch", "5000000")},
        ),
    )
}
"""For the ``windows`` workload: rows and columns of ours, and Flink and Spark without any Python at all."""


def _run(system: str, workload: str, command: list[str]) -> Measurement:
    log = CACHE / "logs" / f"{system}-{workload}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    ensure_java_home(environment)
    environment["PYTHONPATH"] = str(ROOT)
    environment["PYTHONHASHSEED"] = "0"
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(_DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
    text = log.read_text(errors="replace")
    measurement = read(text)
    if code != 0 or measurement is None:
        found = f"ran past {_DEADLINE_SECONDS} s" if code is None else f"ended with {code}"
        last = "\n".join(text.splitlines()[-_LAST_LINES:])
        raise RunFailed(f"{system} {workload}: {found}, log {str(log)!r}:\n{last}")
    return measurement


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    # JVMs and workers are in the group too; one left behind would spoil the next measurement.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
