"""What a benchmark run comes to: medians, ratios within the run, and whether they suffice."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from rich.table import Table

from benchmarks.measurement import PARALLELISM, Measurement, parallelism_of
from benchmarks.workloads import (
    CHAIN,
    COLUMNS,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    NEXMARK,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    SUBTASKS,
    WINDOWS,
    WORKLOADS,
)

LIMIT: Final = "baseline"
OURS: Final = "riverrun"
OTHERS_OF_OURS: Final = ("riverrun-columns", "rocksdb")
"""riverrun in another way: not to be compared with as with a peer."""

GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "Functions on records": (STATELESS, KEYED, STATE, SKEWED, CHAIN, LARGE_RECORDS),
    "Windows and joins": (WINDOWS, SLIDING, SESSIONS, JOIN),
    "Columns": (COLUMNS,),
    "Subtasks": tuple(SUBTASKS),
    "Nexmark": NEXMARK,
}
"""Every workload is in one of them."""


@dataclass(frozen=True, slots=True)
class Goal:
    """How many times a system's records/s riverrun is to reach: at least, or at most."""

    least: float | None = None
    most: float | None = None

    def met(self, ratio: float) -> bool:
        """Whether ``ratio`` is within."""
        return (self.least is None or ratio >= self.least) and (
            self.most is None or ratio <= self.most
        )

    def __str__(self) -> str:
        return f"{self.least:g} x" if self.most is None else f"at most {self.most:g} x"


Targets: TypeAlias = Mapping[tuple[str, str], Goal]
"""By workload and system."""

_PYTHON_PEERS: Final = ("bytewax", "pathway", "structured")
_PYFLINKS: Final = ("pyflink", "pyflink-thread")

TARGETS: Final[Targets] = {
    **{
        (workload, LIMIT): Goal(least=0.5)
        for workload in WORKLOADS
        if workload != COLUMNS and parallelism_of(workload) == PARALLELISM
    },
    **{(workload, peer): Goal(least=10) for workload in WORKLOADS for peer in _PYFLINKS},
    **{(workload, peer): Goal(least=1) for workload in WORKLOADS for peer in _PYTHON_PEERS},
    (COLUMNS, "flink-sql"): Goal(least=1),
    **{(workload, "rocksdb"): Goal(most=2) for workload in (STATE, WINDOWS)},
}
"""What is wanted of riverrun's records/s beside those of the others."""


class Verdict(Enum):
    """How riverrun stands beside a system on a workload."""

    MET = auto()
    MISSED = auto()
    AHEAD = auto()
    BEHIND = auto()
    NOT_COMPARED = auto()

    @property
    def marked(self) -> bool:
        """Whether a reader must be told."""
        return self in (Verdict.MISSED, Verdict.BEHIND)


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one workload; medians of the rounds.

    Attributes:
        workload: What was run.
        system: By whom.
        rate: Records/s, net of start-up.
        low: Of the slowest round.
        high: Of the fastest round.
        of_limit: The rate as a share of the bare loop's in the same round.
        ratio: riverrun's rate in units of this one's in the same round.
        goal: What ``ratio`` is to be.
        cpu: CPU seconds per million records.
        peak_mb: The most memory that all processes held together.
        start_seconds: What a job costs beside its records.
        rounds: How many there were.
    """

    workload: str
    system: str
    rate: float
    low: float
    high: float
    of_limit: float | None
    ratio: float | None
    goal: Goal | None
    cpu: float | None
    peak_mb: float | None
    start_seconds: float
    rounds: int

    @property
    def spread(self) -> float:
        """Between the slowest and the fastest round, as a share of the median."""
        return (self.high - self.low) / self.rate

    @property
    def verdict(self) -> Verdict:
        """How riverrun stands here."""
        if self.ratio is None or self.system == OURS:
            return Verdict.NOT_COMPARED
        if self.goal is not None:
            return Verdict.MET if self.goal.met(self.ratio) else Verdict.MISSED
        if self.system == LIMIT or self.system in OTHERS_OF_OURS:
            return Verdict.NOT_COMPARED
        return Verdict.AHEAD if self.ratio >= 1 else Verdict.BEHIND


Measurements: TypeAlias = Sequence[Measurement]


def rows(measurements: Measurements, targets: Targets = TARGETS) -> list[Row]:
    """Of every workload and system that were measured, in the order in which they came first."""
    own: dict[tuple[str, str], list[Measurement]] = {}
    for each in measurements:
        own.setdefault((each.workload, each.system), []).append(each)
    found = []
    for workload in dict.fromkeys(each.workload for each in measurements):
        limit, ours = own.get((workload, LIMIT), []), own.get((workload, OURS), [])
        for system in dict.fromkeys(each.system for each in measurements):
            if several := own.get((workload, system)):
                goal = targets.get((workload, system))
                found.append(_row(several, limit, ours, goal))
    return found


def _row(several: Measurements, limit: Measurements, ours: Measurements, goal: Goal | None) -> Row:
    rates = [each.rate for each in several]
    rate = statistics.median(rates)
    return Row(
        workload=several[0].workload,
        system=several[0].system,
        rate=rate,
        low=min(rates),
        high=max(rates),
        of_limit=_beside(several, limit),
        ratio=_beside(ours, several),
        goal=goal,
        cpu=_median(each.cpu_per_million for each in several),
        peak_mb=_median(each.peak_bytes and each.peak_bytes / 1e6 for each in several),
        start_seconds=statistics.median(each.start_seconds for each in several),
        rounds=len(several),
    )


def _beside(these: Measurements, those: Measurements) -> float | None:
    """Rates of these in units of those, round by round: a machine that changes its speed changes both."""
    return _median(one.rate / other.rate for one, other in zip(these, those, strict=False))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def table(found: Sequence[Row]) -> Table:
    """One line for each row."""
    result = Table(title=f"medians, net of start-up, at parallelism {PARALLELISM}")
    result.add_column("workload")
    result.add_column("system")
    headings = ("records/s", "spread", "of limit", "riverrun", "wanted", "CPU s/M", "peak MB")
    for heading in (*headings, "start s"):
        result.add_column(heading, justify="right")
    previous = None
    for row in found:
        if previous not in (None, row.workload):
            result.add_section()
        previous = row.workload
        result.add_row(
            row.workload,
            row.system,
            rate_of(row.rate),
            f"{row.spread:.0%}",
            "" if row.of_limit is None else f"{row.of_limit:.2f}",
            _coloured(row),
            "" if row.goal is None else str(row.goal),
            cpu_of(row.cpu),
            "" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
            f"{row.start_seconds:.1f}",
        )
    return result


def _coloured(row: Row) -> str:
    colours = {
        Verdict.MET: "green",
        Verdict.AHEAD: "green",
        Verdict.MISSED: "red",
        Verdict.BEHIND: "red",
    }
    if row.ratio is None or row.system == OURS:
        return ""
    colour = colours.get(row.verdict)
    words = times(row.ratio)
    return f"[{colour}]{words}[/]" if colour else words


def times(ratio: float) -> str:
    """A ratio with as many digits as say something.

    >>> times(0.4567), times(4.567), times(45.67)
    ('0.46 x', '4.6 x', '46 x')
    """
    digits = 0 if ratio >= 10 else 1 if ratio >= 2 else 2  # noqa: PLR2004 - digits, as shown
    return f"{ratio:,.{digits}f} x"


def rate_of(rate: float) -> str:
    """Records/s; with a digit after the point only where the records are few.

    >>> rate_of(1234567.8), rate_of(43.21)
    ('1,234,568', '43.2')
    """
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"  # noqa: PLR2004 - digits, as shown


def cpu_of(seconds: float | None) -> str:
    """CPU seconds per million records.

    >>> cpu_of(0.1234), cpu_of(12.34), cpu_of(1234.5), cpu_of(None)
    ('0.123', '12.3', '1,234', '')
    """
    return "" if seconds is None else f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"  # noqa: PLR2004 - digits, as shown
