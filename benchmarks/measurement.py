"""What one run of one system says: a JSON line on standard output, and how a rate comes out of it.

Standard library only, because each peer imports it with its own interpreter.

A run takes the same program through two sizes, a small one and a large one, after a first small one
that does not count (class loading, compilation by the JVM). The rate is the difference of the
sizes over the difference of the times: whatever a system pays once (processes, connections,
class loading, the end of the job) is in both times and drops out, so no system is charged for it.
CPU time is taken in the same way, over all processes that a run starts.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from benchmarks.resources import adopt_orphans, cpu_seconds
from benchmarks.workloads import SUBTASKS, WORKLOADS

PARALLELISM: Final = 2
_MARK: Final = "BENCHMARK "


def parallelism_of(workload: str) -> int:
    """How many subtasks each operator has.

    >>> parallelism_of("state"), parallelism_of("subtasks-8")
    (2, 8)
    """
    return SUBTASKS.get(workload, PARALLELISM)


@dataclass(frozen=True)
class Measurement:
    """Two timed sizes of one workload on one system.

    Attributes:
        system: The name in the tables.
        workload: What it ran.
        small_records: The small size.
        small_seconds: What that took.
        records: The large size.
        seconds: What that took.
        settings: The settings that it ran with.
        small_cpu_seconds: CPU time of all processes in the small run; None where it is not known.
        cpu_seconds: The same of the large run.
        peak_bytes: The most memory that all processes held together at any time.
        cell_seconds: What the whole measurement took, with its start and all its runs.
    """

    system: str
    workload: str
    small_records: int
    small_seconds: float
    records: int
    seconds: float
    settings: Mapping[str, str]
    small_cpu_seconds: float | None = None
    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    cell_seconds: float | None = None

    @property
    def rate(self) -> float:
        """Records per second, net of start-up.

        >>> Measurement("x", "keyed", 100, 1.0, 300, 2.0, {}).rate
        200.0
        """
        took = self.seconds - self.small_seconds
        if took <= 0:
            sizes = f"{self.small_records} and {self.records} records"
            raise ValueError(
                f"{self.system} {self.workload}: {sizes} took {self.small_seconds:.3f} and "
                f"{self.seconds:.3f} s, expected the larger to take longer; measure more records"
            )
        return (self.records - self.small_records) / took

    @property
    def start_seconds(self) -> float:
        """What a job costs beside its records: the time of the small run less its records' share."""
        return max(0.0, self.small_seconds - self.small_records / self.rate)

    @property
    def cpu_per_million(self) -> float | None:
        """CPU seconds that a million records cost, net of start-up; None where they are not known.

        >>> Measurement("x", "keyed", 100, 1.0, 300, 2.0, {}, 1.0, 1.5).cpu_per_million
        2500.0
        """
        if self.cpu_seconds is None or self.small_cpu_seconds is None:
            return None
        took = self.cpu_seconds - self.small_cpu_seconds
        return took / (self.records - self.small_records) * 1_000_000 if took > 0 else None


def write(measurement: Measurement) -> None:
    """Print the line that :func:`read` finds among whatever else a system prints."""
    sys.stdout.flush()
    print(_MARK + json.dumps(asdict(measurement)), flush=True)


def read(output: str) -> Measurement | None:
    """The measurement in a run's output, or None where the run printed none."""
    for line in reversed(output.splitlines()):
        if line.startswith(_MARK):
            return Measurement(**json.loads(line.removeprefix(_MARK)))
    return None


def measure(
    system: str,
    run: Callable[[argparse.Namespace, int], float],
    settings: Mapping[str, str],
    workloads: Sequence[str] = WORKLOADS,
) -> None:
    """The command line of a measured system: warm up, run both sizes and print the measurement.

    Args:
        system: The name in the tables.
        run: Runs ``arguments.workload`` at the given number of records, returns its seconds.
        settings: Tunable options with their defaults; each becomes a ``--name value`` flag.
        workloads: What ``run`` knows.
    """
    arguments = _parse(settings, workloads)
    adopt_orphans()
    run(arguments, arguments.small)
    small_seconds, small_cpu = _with_cpu(run, arguments, arguments.small)
    seconds, cpu = _with_cpu(run, arguments, arguments.records)
    chosen = {name: str(getattr(arguments, name)) for name in settings}
    write(
        Measurement(
            system,
            arguments.workload,
            arguments.small,
            small_seconds,
            arguments.records,
            seconds,
            chosen,
            small_cpu,
            cpu,
        )
    )


def _with_cpu(
    run: Callable[[argparse.Namespace, int], float], arguments: argparse.Namespace, records: int
) -> tuple[float, float | None]:
    """Seconds and CPU seconds of a run."""
    before = cpu_seconds()
    seconds = run(arguments, records)
    after = cpu_seconds()
    return seconds, None if before is None or after is None else after - before


def _parse(settings: Mapping[str, str], workloads: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", choices=workloads, required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--small", type=int, required=True)
    for name, default in settings.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, default=default)
    return parser.parse_args()


def flags(workload: str, small: int, records: int) -> Sequence[str]:
    """The command-line arguments that :func:`measure` reads."""
    return ("--workload", workload, "--small", str(small), "--records", str(records))
