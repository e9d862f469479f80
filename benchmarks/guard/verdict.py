"""Costs now beside those stored: which path lost how much.

A ratio is the cost of a record on a path divided by that of a record of the bare loop. The stored ones
are kept by unit (bytecode, instructions, cpu) and by minor version of Python, since interpreters differ, apart
for loops that are compiled and those that are not, with the processor that they were measured on.
"""

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.guard import bytecode
from riverrun.loops import COMPILED

ALLOWED: Final = 0.20
"""The loss that is let pass: a path may cost this much more than it did."""
ALLOWED_CPU: Final = 0.50
"""The same for CPU time: on a machine whose caches others use too, paths were seen to cost a fifth more than the
bare loop says, for as long as it lasted. It is the net for what is done in C; bytecode is the fine one.
"""
ALLOWED_ELSEWHERE: Final = 1.00
"""The same for CPU time on another processor, where the bare loop and a path do not gain alike."""
NOTHING: Final = 0.05
"""Bytecode beside the bare loop's that is let pass in any case: two or three instructions a record.

A path that leaves its records to C executes next to none, and a fifth more of that is still next to none.
"""
_EXACT_ENOUGH: Final = "instructions"
STORED: Final = Path(__file__).with_name("baseline.json")

Ratios: TypeAlias = Mapping[str, float]


class Outcome(Enum):
    """What became of a path."""

    KEPT = "kept"
    LOST = "lost"
    GAINED = "gained"
    NEW = "new"
    GONE = "gone"


FAILED: Final = frozenset({Outcome.LOST, Outcome.GONE})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is let pass."""

    allowed: float = ALLOWED
    """As a share of the stored ratio."""
    nothing: float = 0.0
    """As a ratio: so little more is never a loss."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One path; a ratio is ``None`` where there is none."""

    path: str
    stored: float | None
    found: float | None
    bounds: Bounds = Bounds()

    @property
    def change(self) -> float | None:
        """How much more it costs, as a share of what it did.

        >>> Verdict("reduce", 2.0, 2.5).change
        0.25
        """
        if self.stored is None or self.found is None:
            return None
        return self.found / self.stored - 1

    @property
    def outcome(self) -> Outcome:
        """Whether that is let pass.

        >>> Verdict("reduce", 2.0, 2.5).outcome
        <Outcome.LOST: 'lost'>
        """
        if self.stored is None:
            return Outcome.NEW
        if self.found is None or self.change is None:
            return Outcome.GONE
        if abs(self.found - self.stored) <= self.bounds.nothing:
            return Outcome.KEPT
        if self.change > self.bounds.allowed:
            return Outcome.LOST
        return Outcome.GAINED if self.change < -self.bounds.allowed else Outcome.KEPT


def verdicts(stored: Ratios, found: Ratios, bounds: Bounds = Bounds()) -> list[Verdict]:  # noqa: B008
    """Every path, in the order in which they were measured; then those that no longer are."""
    names = dict.fromkeys((*found, *stored))
    return [Verdict(name, stored.get(name), found.get(name), bounds) for name in names]


def failed(compared: list[Verdict]) -> list[str]:
    """The paths that must not stay as they are."""
    return [verdict.path for verdict in compared if verdict.outcome in FAILED]


def this_python() -> str:
    """What ratios are kept by: the minor version, and whether the hottest loops are compiled."""
    loops = " with compiled loops" if COMPILED else ""
    return f"{sys.version_info.major}.{sys.version_info.minor}{loops}"


def this_processor() -> str:
    """The name of the processor's model; empty where the machine does not say it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@dataclass(frozen=True, slots=True)
class Stored:
    """The ratios of one unit on one Python."""

    ratios: Ratios
    processor: str

    def bounds(self, unit: str, processor: str) -> Bounds:
        """What is let pass on ``processor``."""
        if unit == bytecode.UNIT:
            return Bounds(nothing=NOTHING)
        if unit == _EXACT_ENOUGH:
            return Bounds()
        return Bounds(ALLOWED_CPU if processor == self.processor else ALLOWED_ELSEWHERE)


def load(path: Path, unit: str, python: str) -> Stored | None:
    """What is stored; ``None`` where nothing was for this unit and Python."""
    found = _document(path).get(unit, {}).get(python)
    return None if found is None else Stored(**found)


def store(path: Path, unit: str, python: str, found: Stored) -> None:
    """Put these ratios in the place of those of the same unit and Python."""
    document = _document(path)
    ratios = {name: round(found.ratios[name], 3) for name in found.ratios}
    document.setdefault(unit, {})[python] = {"processor": found.processor, "ratios": ratios}
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


def _document(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    document: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return document
