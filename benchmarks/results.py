"""What a benchmark run has measured so far, in a file that is whole after every cell."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks.measurement import PARALLELISM, Measurement
from benchmarks.setup_peers import CACHE

FOLDER: Final = CACHE / "results"
_PREFIX: Final = "run-"
_FIELDS: Final = frozenset(each.name for each in fields(Measurement))


class Cell(NamedTuple):
    """One system on one workload in one round; rounds count from 1."""

    workload: str
    turn: int
    system: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to measure."""

    workloads: Sequence[str]
    systems: Sequence[str]
    rounds: int
    quick: bool


class Beside(NamedTuple):
    """What a benchmark that is no cell printed, and whether it ended well."""

    command: str
    output: str
    succeeded: bool


@dataclass
class Results:
    """Of one run.

    Attributes:
        plan: What it is to measure.
        provenance: Where the figures come from.
        measured: By cell, in the order in which they were taken.
        failed: By cell: why there is no figure.
        beside: By module: what the other benchmarks said.
        latency: What ``benchmarks.latency`` saved; empty: it was not measured.
    """

    plan: Plan
    provenance: Mapping[str, Any]
    measured: dict[Cell, Measurement] = field(default_factory=dict)
    failed: dict[Cell, str] = field(default_factory=dict)
    beside: dict[str, Beside] = field(default_factory=dict)
    latency: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measurements(self) -> Sequence[Measurement]:
        """All of them."""
        return list(self.measured.values())

    def add(self, cell: Cell, measurement: Measurement) -> None:
        """A cell was measured, if not at the first attempt."""
        self.failed.pop(cell, None)
        self.measured[cell] = measurement

    def fail(self, cell: Cell, why: str) -> None:
        """A cell gave no figure."""
        self.failed[cell] = why.partition("\n")[0].removesuffix(":")

    def pending(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of ``cells`` that have no figure yet."""
        return [cell for cell in cells if cell not in self.measured]

    def save(self, path: Path) -> None:
        """Write everything; whoever is interrupted meanwhile finds the file as it was before."""
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half")
        half.write_text(json.dumps(self._document(), indent=1) + "\n")
        half.replace(path)

    def _document(self) -> dict[str, Any]:
        return {
            **self.provenance,
            "parallelism": PARALLELISM,
            "plan": asdict(self.plan),
            "measurements": [
                {
                    "turn": cell.turn,
                    **asdict(each),
                    "rate": each.rate,
                    "cpu_per_million": each.cpu_per_million,
                }
                for cell, each in self.measured.items()
            ],
            "failures": [{**cell._asdict(), "why": why} for cell, why in self.failed.items()],
            "beside": {name: each._asdict() for name, each in self.beside.items()},
            "latency": self.latency,
        }


def load(path: Path) -> Results:
    """The results that :meth:`Results.save` wrote."""
    document = json.loads(path.read_text())
    measured = {}
    for each in document.pop("measurements"):
        measurement = Measurement(**{name: each[name] for name in each.keys() & _FIELDS})
        measured[Cell(each["workload"], each["turn"], each["system"])] = measurement
    failed = {
        Cell(each["workload"], each["turn"], each["system"]): each["why"]
        for each in document.pop("failures")
    }
    return Results(
        Plan(**document.pop("plan")),
        measured=measured,
        failed=failed,
        beside={name: Beside(**each) for name, each in document.pop("beside").items()},
        latency=document.pop("latency"),
        provenance={name: value for name, value in document.items() if name != "parallelism"},
    )


def path_for(results: Results) -> Path:
    """Where a new run keeps its figures."""
    moment = results.provenance["date"][:19].replace(":", "")
    return FOLDER / f"{_PREFIX}{moment}.json"


def expected_seconds(files: Iterable[Path], *, quick: bool) -> dict[tuple[str, str], float]:
    """How long a cell took when it was last measured, by workload and system."""
    found: dict[tuple[str, str], float] = {}
    for file in sorted(files):
        results = load(file)
        if results.plan.quick != quick:
            continue
        seconds: dict[tuple[str, str], list[float]] = {}
        for each in results.measurements:
            if each.cell_seconds is not None:
                seconds.setdefault((each.workload, each.system), []).append(each.cell_seconds)
        found |= {where: median(took) for where, took in seconds.items()}
    return found


def saved_files(folder: Path = FOLDER) -> list[Path]:
    """The files of runs before this one."""
    return sorted(folder.glob(f"{_PREFIX}*.json"))
